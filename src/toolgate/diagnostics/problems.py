"""Problems that checkers report: read from their output, and compared without regard to lines that have moved."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_PROBLEMS = 500
"""Problems of one file that are read."""
_MAX_MESSAGE = 300
_LINE = re.compile(
    r"^(?P<path>[^\s:(][^:(\n]*)[:(](?P<line>\d+)(?:[:,](?P<column>\d+)(?:-\d+)?)?\)?:?[ \t]+(?P<message>\S.*)$"
)
_RUST = re.compile(r"file (?P<path>\S+): (?P<message>\w+ .*?) from LineCol \{ line: (?P<line>\d+).*?\}: (?P<rest>.*)$")
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem in a file."""

    checker: str
    line: int
    message: str
    source: str = ""
    """The text of the line, by which a problem is found again after lines have moved."""

    @property
    def key(self) -> tuple[str, str]:
        """The part of a problem that stays the same if lines before it are added or removed."""
        return self.checker, re.sub(r"\d+", "0", self.message)


Read = Callable[[str, str, str], list[Problem]]
"""`read(checker, output, path)`: the problems in the file at `path`, relative to the root."""


def read_lines(checker: str, output: str, path: str) -> list[Problem]:
    """Lines like `path:line:column: message` and `path(line,column): message`."""
    found = []
    for line in output.splitlines():
        match = _LINE.match(_TERMINAL.sub("", line))
        if match is not None and _is_same_file(match["path"], path):
            found.append(_problem(checker, int(match["line"][:9]), match["message"]))
    return found[:MAX_PROBLEMS]


def read_pyright(checker: str, output: str, path: str) -> list[Problem]:
    """The errors and warnings of pyright's JSON."""
    try:
        items = json.loads(output[output.index("{") :])["generalDiagnostics"]
        return [
            _problem(checker, int(item["range"]["start"]["line"]) + 1, f"{item['severity']}: {item['message']}")
            for item in items
            if item.get("severity") in ("error", "warning") and _is_same_file(str(item["file"]), path)
        ][:MAX_PROBLEMS]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def read_rust_analyzer(checker: str, output: str, path: str) -> list[Problem]:
    """Lines of `rust-analyzer diagnostics`."""
    found = []
    for line in output.splitlines():
        match = _RUST.search(line)
        if match is not None and _is_same_file(match["path"], path):
            found.append(_problem(checker, int(match["line"][:9]) + 1, f"{match['message']}: {match['rest']}"))
    return found[:MAX_PROBLEMS]


def new_problems(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    """The problems that were not there before, in the order of their lines.

    Problems on lines with the same text are the same. Of the others, as many are new as there are more of a kind.
    """
    known = Counter((problem.key, problem.source) for problem in before)
    moved = []
    for problem in after:
        if known[problem.key, problem.source]:
            known[problem.key, problem.source] -= 1
        else:
            moved.append(problem)
    kinds = Counter[tuple[str, str]]()
    for (key, _), count in known.items():
        kinds[key] += count
    fresh = []
    for problem in moved:
        if kinds[problem.key]:
            kinds[problem.key] -= 1
        else:
            fresh.append(problem)
    return sorted(fresh, key=lambda problem: problem.line)


def _problem(checker: str, line: int, message: str) -> Problem:
    text = " ".join(_TERMINAL.sub("", message).split())
    return Problem(checker=checker, line=line, message=text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…")


def _is_same_file(reported: str, path: str) -> bool:
    """Whether a checker reports this file. It may use the absolute path."""
    name = posixpath.normpath(reported.strip())
    return name == path or name.endswith(f"/{path}")
