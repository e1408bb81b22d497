"""The envelope and the text of a finished command."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import Status, ToolResponse

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolDefinition
    from toolgate.shell import CommandResult, ShellSession
    from toolgate.tools.builtin.bash_full_output import FullOutput

_CATEGORIES = {127: "command_not_found", 126: "execution_error"}
_USAGE_CODES = frozenset({1, 2, 64, 129})
_USAGE = (
    r"(?im)^usage: |^Try '.+ --help'|: (?:unrecognized|invalid|unknown|illegal) option\b"
    r"|: syntax error[ :]|: unexpected (?:EOF|end of file)|wanted at line \d+, delimited by end-of-file"
)
"""How programs report wrong usage. An exit code of 2 alone is not enough: it has many other meanings."""
OUTSIDE = "(outside the root)"
"""`context.cwd` if the shell's directory is outside the root. Envelopes contain no paths of the host."""
_FINE = "Exit code 0."
"""The text of a command that succeeded without notes. The rendered output leaves it out."""
_NOT_FOUND = r"(?m)^bash: line \d+: (\w+): command not found$"
_NOT_TEXT = "Bytes that are not UTF-8 text are shown as \ufffd."


_SAME = {
    **dict.fromkeys(("rg", "ag", "ack"), ("grep", "grep -rn PATTERN .")),
    **dict.fromkeys(("fd", "fdfind", "glob"), ("glob", "find . -name PATTERN")),
    "tree": ("ls", "find ."),
}
"""Programs and words that models try → the tool that does the same, and a command."""


def command_response(
    result: CommandResult,
    timeout_ms: int,
    full: FullOutput | None = None,
    tools: Callable[[], list[ToolDefinition]] | None = None,
) -> ToolResponse:
    """The envelope of a command. A command that ran is not an error, whatever its exit code.

    `tools` returns the tools that the caller can use instead.
    """
    data = data_of(result)
    if full is not None and full.paths:
        data["full_output"] = full.paths
    stats: dict[str, Any] = {
        "stdout_bytes": result.stdout_info.bytes or len(result.stdout.encode(errors="replace")),
        "stderr_bytes": result.stderr_info.bytes or len(result.stderr.encode(errors="replace")),
    }
    context = {"cwd": shown_directory(result.cwd)}
    if result.job_id is not None:
        data["job_id"] = result.job_id
        text = f"Started in the background as {result.job_id}. Look at it with: jobs output {result.job_id}"
        return ToolResponse.success(data, text, stats=stats, context=context)
    notes = [*(full.sentences if full is not None else ())]
    if "\ufffd" in result.stdout or "\ufffd" in result.stderr:
        notes.append(_NOT_TEXT)
    if result.timed_out:
        return _timed_out(data, timeout_ms, [*([result.hint] if result.hint else []), *notes], stats, context)
    advice = result.hint or _not_found_hint(result, tools)
    sentences = [_ending(result), *([advice] if advice else []), *notes]
    if result.exit_code == 0 and not result.truncated:
        return ToolResponse.success(data, " ".join(sentences), stats=stats, context=context)
    sentences.append("" if advice and not result.truncated else _next_step(result, data))
    return ToolResponse.partial(data, " ".join(filter(None, sentences)), stats=stats, context=context)


def shown_directory(directory: str) -> str:
    """The shell's directory as envelopes have it: relative to the root, or that it is outside."""
    return OUTSIDE if directory.startswith("/") else directory


def data_of(result: CommandResult) -> dict[str, Any]:
    """`data` of every answer."""
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "truncated": result.truncated,
        "sandbox": result.sandbox.to_dict() if result.sandbox is not None else None,
    }


def kept_job_response(result: CommandResult, seconds: float, full: FullOutput | None = None) -> ToolResponse:
    """The answer of a command that goes on as a job, because `jobs keep` asked for that."""
    response = command_response(result, 0, full)
    text = (
        f"The command did not end within {seconds:g} s and goes on in the background as {result.job_id}. "
        f"Next: jobs wait {result.job_id}, jobs output {result.job_id}, or jobs stop {result.job_id}."
    )
    return ToolResponse.partial(response.data, text, stats=response.stats, context=response.context)


def restart_response(shell: ShellSession) -> ToolResponse:
    """The answer to `restart` alone."""
    data = {"stdout": "", "stderr": "", "exit_code": 0, "truncated": False, "sandbox": shell.sandbox().to_dict()}
    return ToolResponse.success(data, "The shell starts anew.", context={"cwd": shown_directory(shell.cwd)})


def _ending(result: CommandResult) -> str:
    if result.exit_code is None:
        return "It was ended before it was done."
    return _FINE if result.exit_code == 0 else f"Exit code {result.exit_code}."


def _next_step(result: CommandResult, data: dict[str, Any]) -> str:
    if data.get("full_output"):
        return "Next: read_file or grep with that path."
    if result.truncated:
        return "Next: run it again for less of it."
    return "Read stderr, change the command and try again." if result.stderr else "Change the command and try again."


def _not_found_hint(result: CommandResult, tools: Callable[[], list[ToolDefinition]] | None) -> str:
    """A hint if bash looked for a program with the name of an agent command or a tool, or for one that is not here."""
    if result.exit_code == 0 or not (missing := re.search(_NOT_FOUND, result.stderr)):
        return ""
    from toolgate.agent_commands import COMMANDS

    name = missing[1]
    visible = frozenset(tool.name for tool in tools()) if tools is not None else frozenset()
    if name in COMMANDS and (COMMANDS[name].tool in visible or not COMMANDS[name].tool or tools is None):
        fed = ", with a quoted heredoc (<<'EOF')" if COMMANDS[name].takes_heredoc else ""
        how = f"run it on its own{fed}, not in a pipe or a script"
        return f"'{name}' is a command of this runtime, not a program: {how}."
    if name in visible:
        return f"'{name}' is a tool, not a program: call it by its name, not through Bash."
    if name in _SAME:
        tool, command = _SAME[name]
        instead = f"call the tool '{tool}'" if tool in visible else f"use '{command}'"
        return f"There is no program '{name}' here: {instead}."
    return ""


def _timed_out(
    data: dict[str, Any], timeout_ms: int, notes: list[str], stats: dict[str, Any], context: dict[str, Any]
) -> ToolResponse:
    data["timed_out"] = True
    message = f"The command did not end within {timeout_ms / 1000:g} s; it was ended with everything that it started."
    step = "Use a longer timeout_ms, background=true, or 'jobs keep COMMAND', which goes on as a job."
    if data["stdout"] or data["stderr"]:
        text = " ".join([message, "What it had printed is kept.", *notes, step])
        return ToolResponse.partial(data, text, stats=stats, context=context)
    sentences = " ".join([message, *notes])
    return ToolResponse.failure(ErrorCode.TIMEOUT, sentences, data=data, next_step=step, stats=stats, context=context)


def category_of(response: ToolResponse) -> str | None:
    """`failureCategory` of a command that did not end well."""
    data = response.data
    if data.get("timed_out"):
        return "timeout"
    code = data.get("exit_code", 0)
    if code in _USAGE_CODES and "routed" not in data and re.search(_USAGE, data.get("stderr", "")[:4096]):
        return "invalid_usage"
    return _CATEGORIES.get(code)


def render(response: ToolResponse) -> str:
    """stdout, then stderr, then how it ended; plain text."""
    data = response.data
    if "stdout" not in data:
        return response.text
    parts = [data["stdout"]]
    if data["stderr"]:
        parts.append(data["stderr"] if not data["stdout"] else f"[stderr]\n{data['stderr']}")
    shown = "".join(part if part.endswith("\n") or not part else part + "\n" for part in parts)
    more = response.text.startswith(f"{_FINE} ")  # a hint, or a note about the output
    needless = response.status is Status.success and "job_id" not in data and not more
    return shown if shown and (needless or response.text in data["stderr"]) else f"{shown}[{response.text}]"
