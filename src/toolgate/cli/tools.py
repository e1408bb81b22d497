"""Show the built-in tools and their modes: a model sees exactly the tools that it may run."""

import argparse
import json
import sys

from toolgate.cli.parser import add_json
from toolgate.cli.style import Style, columns


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--mode", choices=("chat_safe", "coding"), help="only the tools of this mode")
    add_json(parser, "the tools' schemas (OpenAI function format)")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    import toolgate
    from toolgate.tools.declaration import asks_when

    registry = toolgate.builtin_registry()
    modes = [toolgate.ToolMode(args.mode)] if args.mode else list(toolgate.ToolMode)
    names = sorted({tool.name for mode in modes for tool in registry.list_declarations(mode)}, key=str.lower)
    if args.json:
        schemas = {entry["function"]["name"]: entry for mode in modes for entry in registry.get_tools_schema(mode)}
        sys.stdout.write(json.dumps([schemas[name] for name in names], ensure_ascii=False, indent=2) + "\n")
        return 0
    rows = [["TOOL", "GROUP", *(mode.value for mode in modes), "ASKS", "WHAT IT DOES"]]
    for name in names:
        tool = registry.declaration(name)
        assert tool is not None
        marks = ["yes" if registry.check_mode(name, mode) else "-" for mode in modes]
        found = registry.get(name)
        assert found is not None
        asks = {"always": "yes", "risky": "if risky", "never": "-"}[asks_when(found, tool)]
        does = _first(tool.definition.description)
        rows.append([name, tool.group.value, *marks, asks, does])
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
    word = cell.strip()
    return paint(cell, "green") if word == "yes" else paint(cell, "dim") if word == "-" else cell
