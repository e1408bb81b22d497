"""Highlights code as HTML with classes: one string per line, and None where plain text is the better answer."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from html import escape
from itertools import groupby
from pathlib import PurePosixPath
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pygments.lexer import Lexer

MAX_CODE = 12_000
"""Maximum characters of one piece of code. Lexers are regular expressions, and hostile code makes them slow."""
_MAX_LINE = 500
_MAX_SECONDS = 0.05
"""Maximum processor time for one piece of code."""
_MAX_DIFF_SECONDS = 0.2
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){12}")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

_ALIASES = {
    name: language
    for language, names in {
        "bash": "bash sh shell zsh",
        "c": "c h",
        "cpp": "cpp c++ cc cxx hpp hh",
        "csharp": "csharp cs c#",
        "css": "css",
        "scss": "scss",
        "diff": "diff patch",
        "docker": "dockerfile docker",
        "elixir": "elixir ex exs",
        "go": "go golang",
        "graphql": "graphql gql",
        "haskell": "haskell hs",
        "html": "html htm",
        "ini": "ini cfg conf properties",
        "java": "java",
        "javascript": "javascript js mjs cjs jsx",
        "json": "json jsonc",
        "kotlin": "kotlin kt kts",
        "lua": "lua",
        "make": "makefile make mk",
        "perl": "perl pl pm",
        "php": "php",
        "python": "python py pyi python3",
        "r": "r",
        "ruby": "ruby rb",
        "rust": "rust rs",
        "scala": "scala",
        "sql": "sql",
        "swift": "swift",
        "toml": "toml",
        "typescript": "typescript ts tsx",
        "xml": "xml svg",
        "yaml": "yaml yml",
    }.items()
    for name in names.split()
}
_CLASSES = {
    "Keyword.Constant": "n",
    "Keyword.Type": "t",
    "Keyword": "k",
    "Operator.Word": "k",
    "Comment": "c",
    "Literal.String": "s",
    "Literal": "n",
    "Name.Function": "f",
    "Name.Class": "t",
    "Name.Builtin": "b",
    "Name.Exception": "t",
    "Name.Decorator": "f",
    "Name.Tag": "k",
    "Name.Attribute": "b",
    "Name.Variable": "b",
    "Generic.Inserted": "s",
    "Generic.Deleted": "k",
    "Generic.Heading": "c",
    "Generic.Subheading": "c",
}
"""Kind of token → class, the first prefix that fits. Everything else has no class."""


def language_of(name: str) -> str | None:
    """Return the language that a fence or a path names, if it can be highlighted."""
    base = PurePosixPath(name.strip().lower()).name
    return _ALIASES.get(base) or _ALIASES.get(base.rpartition(".")[2])


@lru_cache(maxsize=64)
def highlight(code: str, language: str | None) -> tuple[str, ...] | None:
    """Return the lines of code as HTML. None if the language is unknown, or the code is too long or too slow."""
    if language is None or len(code) > MAX_CODE or _BLANK_LINES.search(code):
        return None
    if any(len(line) > _MAX_LINE for line in code.split("\n")):
        return None
    lexer = _lexer(language)  # the first use of a language compiles its rules: that is not the code's slowness
    end = thread_time() + _MAX_SECONDS
    lines = [""]
    for name, values in groupby(lexer.get_tokens(code), lambda token: _class_of(token[0])):
        pieces = []
        for _, value in values:
            if thread_time() > end:
                return None
            pieces.append(value)
        first, *rest = "".join(pieces).split("\n")
        lines[-1] += _span(name, first)
        lines += [_span(name, line) for line in rest]
    return tuple(lines)


def highlight_diff(text: str) -> list[str] | None:
    """Return the lines of a unified diff of one file: code as HTML without its first column, other lines escaped."""
    lines = text.split("\n")
    path = next((line[4:] for line in lines[:2] if line[4:] != "/dev/null"), "") if len(lines) > 2 else ""
    language = language_of(path)
    if language is None:
        return None
    shown = [escape(line[1:]) for line in lines]
    deadline = thread_time() + _MAX_DIFF_SECONDS
    for start, end in _hunks(lines):
        for side in "-+" if thread_time() < deadline else "":
            rows = [row for row in range(start, end) if lines[row][:1] in (side, " ")]
            html = highlight("\n".join(lines[row][1:] for row in rows), language)
            if html is None or len(html) != len(rows):
                continue
            for row, line in zip(rows, html, strict=True):
                shown[row] = line
    return shown


def _hunks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each hunk and the line after its last one."""
    row = 0
    while row < len(lines):
        found = _HUNK.match(lines[row])
        row += 1
        if found is None:
            continue
        start = row
        before, after = int(found[1] or 1), int(found[2] or 1)
        while row < len(lines) and (before > 0 or after > 0):
            before -= lines[row][:1] in ("-", " ")
            after -= lines[row][:1] in ("+", " ")
            row += 1
        yield start, row


def _span(name: str, text: str) -> str:
    return f'<span class="{name}">{escape(text)}</span>' if name and text else escape(text)


@cache
def _class_of(kind: object) -> str:
    words = str(kind).removeprefix("Token.")
    return next((name for prefix, name in _CLASSES.items() if words.startswith(prefix)), "")


@cache
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


def languages() -> Iterable[str]:
    """Return all languages that can be highlighted."""
    return sorted(set(_ALIASES.values()))
