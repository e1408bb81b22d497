"""Reads the sources of the commands: the texts that they translate, and texts for people that they do not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "toolgate"
CONVERTED = [
    *("cli/__init__.py", "cli/parser.py", "cli/doctor.py", "cli/terminal_approver.py", "gateway/status_text.py"),
    *("cli/chat/approval_prompt.py", "cli/chat/slash_commands.py", "cli/chat/session_commands.py"),
    *("cli/chat/model_command.py", "cli/chat/permissions.py", "cli/chat/welcome.py", "cli/chat/terminal.py"),
    *("cli/chat/turn_view.py", "cli/chat/typed_ahead.py", "cli/chat/approval_words.py", "cli/chat/command.py"),
    *(f"cli/sh/{name}.py" for name in ("calls", "colon_commands", "command", "line_source", "screen")),
    *(f"cli/sessions/{name}.py" for name in ("command", "find", "listing", "prune", "rename", "show")),
    "cli/policy.py",
]
"""Modules whose whole text for people is translated."""
_SENTENCE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
_TRANSLATING = {"translate", "translatable"}
FOR_MODELS = {
    "the person at the terminal declined",
    "the person at the terminal denied it",
    "nobody is at the terminal",
    "there is no terminal to ask at",
    "not allowed at the terminal",
    "\n\n## Changes that the user wants\n\n",
}
"""What a model reads about an answer."""
_NOT_FOR_PEOPLE = re.compile(
    r"^(bold|dim|ansi\w+)\b|^(read_file|current_time|memory_append|Bash|class:)| needs permission$|[<{]"
)
"""Styles, calls, what is compared, and HTML."""


def translated(path: Path) -> Iterator[str]:
    """Yield the texts that a module translates."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TRANSLATING:
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value)


def values(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield each text that is translated where it is shown, and the names of the values that it is given."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        shown = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "translate"
        if isinstance(node, ast.Call) and shown and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), {keyword.arg or "" for keyword in node.keywords}


def untranslated(code: str) -> Iterator[str]:
    """Yield the texts of a module that look like sentences for people, and that are not translated."""
    yield from _sentences(ast.parse(code))


def _sentences(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TRANSLATING:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
        if _SENTENCE.search(text) and text not in FOR_MODELS and not _NOT_FOR_PEOPLE.search(text):
            yield text
    for child in ast.iter_child_nodes(node):
        yield from _sentences(child)
