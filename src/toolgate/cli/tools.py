"""Show the tools, their modes and where they come from: a model sees exactly the tools that it may run.

The tools of MCP servers are not in the list: toolgate servers shows them.
"""

import argparse
import json
import sys

from toolgate.cli.parser import add_json, add_tools
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import for_terminal, visible
from toolgate.language.translate import translate


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--mode", choices=("chat_safe", "coding"), help=translate("only the tools of this mode"))
    add_tools(parser)
    add_json(parser, translate("the tools' schemas (OpenAI function format)"))


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    import toolgate
    from toolgate.plugins import load_tools
    from toolgate.runtime.own_tools import add_tools as add
    from toolgate.tools.declaration import asks_when

    registry, origins = toolgate.builtin_registry(), dict[str, str]()
    for source in load_tools(args.tools):
        add(registry, source.tools)
        origins |= {tool.name: source.origin for tool in source.tools}
    modes = [toolgate.ToolMode(args.mode)] if args.mode else list(toolgate.ToolMode)
    shown = {tool.name for mode in modes for tool in registry.list_declarations(mode)}
    # a custom tool that declares no mode is listed without --mode, so that its author sees why it is not used
    names = sorted(shown | (set() if args.mode else set(origins)), key=str.lower)
    if args.json:
        schemas = {entry["function"]["name"]: entry for mode in modes for entry in registry.get_tools_schema(mode)}
        found = [schemas[name] for name in names if name in schemas]
        sys.stdout.write(for_terminal(json.dumps(found, ensure_ascii=False, indent=2)) + "\n")
        return 0
    rows = [["TOOL", "GROUP", *(mode.value for mode in modes), "ASKS", "FROM", "WHAT IT DOES"]]
    for name in names:
        made, tool = registry.get(name), registry.declaration(name)
        assert made is not None
        assert tool is not None
        marks = ["yes" if registry.check_mode(name, mode) else "-" for mode in modes]
        asks = {"always": "yes", "risky": "if risky", "never": "-"}[asks_when(made, tool)]
        does, origin = _first(tool.definition.description), origins.get(name, "built-in")
        rows.append([name, tool.group.value, *marks, asks, visible(origin, keep=""), visible(does, keep="")])
    _print(rows)
    return 0


def _first(description: str) -> str:
    """Return the first sentence, on one line."""
    return " ".join(description.split()).partition(". ")[0].rstrip(".")


def _print(rows: list[list[str]]) -> None:
    paint = Style(sys.stdout)
    for number, row in enumerate(columns(rows)):
        cells = [paint(cell, "bold") if not number else _coloured(paint, cell) for cell in row]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _coloured(paint: Style, cell: str) -> str:
    colour = {"yes": "green", "-": "dim"}.get(cell.strip())
    return cell if colour is None else paint(cell, colour)
