"""Call a tool through the same pipeline as a model's calls, and show what the model would read.

Exit code: 0 for success and partial, 1 for an error, 2 for a usage error (unknown tool, arguments that are not JSON or
do not match the schema). A call that needs permission asks at the terminal; without a terminal it is denied.
"""

import argparse
import asyncio
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate.cli.parser import add_json, add_mode, add_root, add_tools, own_tools
from toolgate.cli.stdin import read_stdin
from toolgate.cli.style import Style
from toolgate.cli.visible import for_terminal, visible
from toolgate.garbage import collection_postponed
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate.protocol.calls import ToolResult
    from toolgate.tools.base import Tool


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help=translate("the tool (toolgate tools lists them)"))
    parser.add_argument(
        "arguments",
        metavar="ARGS",
        nargs="*",
        default=[],
        help=translate("its arguments: JSON, key=value pairs, or the text of its main one; - reads JSON from stdin"),
    )
    add_mode(parser, default="chat_safe")
    add_root(parser)
    add_tools(parser)
    add_json(parser, translate("the envelope"))


def run(args: argparse.Namespace) -> int:
    """Call the tool, show the result, and return the exit code."""
    with collection_postponed():  # nothing that imports make is garbage
        tools = own_tools(args)
        arguments = read_stdin() if args.arguments == ["-"] else arguments_of(args.name, args.arguments, tools)
    result = asyncio.run(_call(args.name, arguments, args.mode, args.root, tools))
    if args.json:
        sys.stdout.write(for_terminal(result.response.to_json()) + "\n")
    elif result.is_error:
        _complain(result, args.mode)
    else:
        _show(result)
    return exit_code(result)


def arguments_of(name: str, words: list[str], tools: "Sequence[Tool[Any]]" = ()) -> str:
    """Return a call's arguments as JSON, from any form that the chat takes."""
    import shlex

    import toolgate
    from toolgate.models.offline import typed_arguments

    tool = next((tool for tool in tools if tool.name == name), None) or toolgate.builtin_registry().get(name)
    text = words[0] if len(words) == 1 else shlex.join(words)
    if name != "Bash" and text.lstrip().startswith("["):
        return text  # JSON, but no object: the pipeline says so
    return typed_arguments(text.strip(), {} if tool is None else tool.tool_definition.parameters)


def exit_code(result: "ToolResult") -> int:
    """Return 0 for a usable result, 1 for a failure, 2 for a usage error."""
    from toolgate.protocol.codes import ErrorCode

    error = result.response.error
    if error is None:
        return 0
    misread = error.code is ErrorCode.INVALID_PARAM and "Invalid parameters" in error.message
    return 2 if misread or error.code is ErrorCode.TOOL_NOT_FOUND else 1


async def _call(
    name: str, arguments: str, mode: str, root: Path | None, tools: "Sequence[Tool[Any]]" = ()
) -> "ToolResult":
    import toolgate
    from toolgate.cli.terminal_approver import terminal_approver
    from toolgate.settings import Settings

    settings = Settings()
    call = toolgate.ToolCall(id=f"cli-{secrets.token_hex(4)}", name=name, arguments=arguments)
    async with toolgate.open(
        root or settings.workspace.root,
        mode=toolgate.ToolMode(mode),
        approver=terminal_approver(),
        settings=settings,
        tools=tools,
        remembers_for_project=True,
    ) as toolset:
        return await toolset.handle(call)


def _show(result: "ToolResult") -> None:
    """Print the output on stdout; on a terminal with hidden characters made visible and a status line."""
    response = result.response
    output = visible(result.output) if sys.stdout.isatty() else result.output
    sys.stdout.write(output if output.endswith("\n") else output + "\n")
    sys.stdout.flush()
    if sys.stderr.isatty():
        paint = Style(sys.stderr)
        colour = "green" if response.status.value == "success" else "yellow"
        sys.stderr.write(paint(f"{response.status.value}, {float(response.stats['time_ms']):,.1f} ms", colour) + "\n")


def _complain(result: "ToolResult", mode: str) -> None:
    """Print the error and its next step on stderr."""
    error = result.response.error
    assert error is not None
    paint = Style(sys.stderr)
    denied_by_mode = error.code.value == "MODE_DENIED" and mode == "chat_safe"
    text = visible(error.message if denied_by_mode else result.response.text or error.message)
    sys.stderr.write(f"toolgate call: {paint(error.code.value, 'bold', 'red')}: {text}\n")
    if denied_by_mode:
        sys.stderr.write(
            paint(translate("You are the operator here: --mode coding allows it for this call."), "dim") + "\n"
        )
    if error.code.value == "TOOL_NOT_FOUND":
        sys.stderr.write(paint(translate("toolgate tools lists the tools of every mode."), "dim") + "\n")
    if "nobody can be asked" in error.message and not sys.stdin.isatty():
        sys.stderr.write(paint(translate("You can be asked if the command runs in a terminal."), "dim") + "\n")
