"""Parses the stream of a search into its result, sorted by path. Only what is shown is held in memory.

Records are `path NUL line NUL kind text LF`; see `toolgate.search.python_scan`, and the options in `ripgrep` that make
rg write the same. Those of one file stand together; files come in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_LINE = 2000
"""Longest line that is shown, in characters."""
MAX_SKIPPED = 10_000
"""Most skipped files that are remembered by name."""
CLIPPED = " … [line clipped]"
"""What follows a clipped line."""

_RECORD = re.compile(rb"([^\0]+)\0(\d+)\0([MCS])([^\n]*)\n")
_WARNING = re.compile(
    rb": (?:WARNING: stopped searching binary file after match|binary file matches) "
    rb'\(found "\\0" byte around offset \d+\)\n'
)
_MAX_REST = 1 << 20

Line = tuple[int, bool, bytes]
"""Number, whether it matches, and text."""


@dataclass(slots=True)
class Matches:
    """What a search has found so far."""

    limit: int
    after: int = 0
    by_file: bool = False
    """Only count the matches of each file; `limit` is about files then."""
    wanted: Callable[[str, str], bool] | None = None
    """Called with name and path (relative to the start of the search) to decide whether a file counts."""
    total: int = 0
    """Matching lines in all files."""
    files: int = 0
    """Files that contain them."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Path and reason of skipped files, up to a limit."""
    total_skipped: int = 0
    _kept: dict[str, list[Line]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _matches: int = 0
    _last: str | None = None
    """Files that sort after this one cannot be among the first `limit` matches."""

    def skip(self, path: str, reason: str) -> None:
        """Record a skipped file."""
        if path not in self.skipped:
            self.total_skipped += 1
            if len(self.skipped) < MAX_SKIPPED:
                self.skipped[path] = reason

    def add(self, path: str, lines: list[Line], matches: int) -> None:
        """Add one file."""
        if path in self._kept:
            return
        self.total += matches
        self.files += 1
        if self._last is not None and path > self._last:
            return
        self._kept[path] = [] if self.by_file else lines
        if self.by_file:
            self._counts[path] = matches
            if len(self._kept) > 4 * self.limit + 1000:
                self._forget_files()
            return
        self._matches += matches
        if self._matches > 4 * self.limit + 1000 or len(self._kept) > 4 * self.limit + 1000:
            self._forget()

    def adopt(self, path: str, other: Matches) -> None:
        """Add a file that was searched by itself, under its own path."""
        self.add(path, next(iter(other._kept.values())), other.total)

    def _forget(self) -> None:
        """Keep only the files of the first `limit` matches."""
        kept, count = {}, 0
        for path in sorted(self._kept):
            kept[path] = self._kept[path]
            count += sum(1 for _, matching, _ in kept[path] if matching)
            if count >= self.limit:
                self._last = path
                break
        self._kept, self._matches = kept, count

    def _forget_files(self) -> None:
        """Keep only the first `limit` files."""
        first = sorted(self._counts)[: self.limit]
        self._counts = {path: self._counts[path] for path in first}
        self._kept, self._last = {path: [] for path in first}, first[-1]

    def first_files(self, prefix: str) -> list[tuple[str, int]]:
        """Return the first `limit` files by path, with the number of their matching lines."""
        return [(prefix + path, self._counts[path]) for path in sorted(self._counts)[: self.limit]]

    def first(self, before: int, after: int, prefix: str) -> tuple[list[dict[str, Any]], int]:
        """Return the first `limit` matches by path and line, as the envelope shows them, and how many were clipped."""
        out: list[dict[str, Any]] = []
        clipped = 0
        for path in sorted(self._kept):
            lines = self._kept[path]
            texts = {number: _shown(text) for number, _, text in lines}
            for number, matching, _ in lines:
                if not matching:
                    continue
                if len(out) == self.limit:
                    return out, clipped
                match: dict[str, Any] = {"file": prefix + path, "line": number, "text": texts[number]}
                if before:
                    match["before"] = _window(texts, range(number - before, number))
                if after:
                    match["after"] = _window(texts, range(number + 1, number + after + 1))
                clipped += any(text.endswith(CLIPPED) for text in (match["text"], *match.get("before", ())))
                out.append(match)
        return out, clipped


def _window(texts: dict[int, str], numbers: Iterable[int]) -> list[str]:
    return [texts[number] for number in numbers if number in texts]


def _shown(raw: bytes) -> str:
    text = raw.rstrip(b"\r").decode("utf-8", "replace")
    return text if len(text) <= MAX_LINE else text[:MAX_LINE] + CLIPPED


def shown_path(raw: bytes) -> str:
    """Return a path as results show it: bytes that are not UTF-8 become U+FFFD."""
    return raw.removeprefix(b"./").decode("utf-8", "replace")


class MatchStream:
    """Parses what one process writes, in pieces of any size."""

    def __init__(self, found: Matches) -> None:
        self._found = found
        self._rest = b""
        self._raw = b""
        self._lines: list[Line] = []
        self._matches = 0
        self._tail = 0

    def feed(self, chunk: bytes) -> None:
        """Add the next piece."""
        if b"\n" not in chunk:
            if len(self._rest) <= _MAX_REST:  # otherwise it is the end of a huge line, which would be clipped anyway
                self._rest += chunk
            return
        data, end = self._rest + chunk, 0
        while record := _RECORD.match(data, end):
            end = record.end()
            raw, number, kind, text = record.groups()
            if raw != self._raw:
                raw = self._next_file(raw)
            if kind == b"S":
                self._found.skip(shown_path(raw), text.decode("utf-8", "replace"))
            else:
                self._line(int(number), kind == b"M", text)
        self._rest = data[end:]

    def finish(self) -> None:
        """End of the stream."""
        self._next_file(self._rest)
        self._rest = b""

    def _line(self, number: int, matching: bool, text: bytes) -> None:
        """Count a line; keep it if it can be shown."""
        self._matches += matching
        if self._matches <= self._found.limit:
            self._tail = number + self._found.after
        elif number > self._tail:
            return
        self._lines.append((number, matching and self._matches <= self._found.limit, text[: 8 * MAX_LINE]))

    def _next_file(self, raw: bytes) -> bytes:
        """Pass on the completed file; return the next one's path without a preceding warning."""
        warning = _WARNING.match(raw, len(self._raw)) if self._raw and raw.startswith(self._raw) else None
        path = shown_path(self._raw)
        if self._matches and self._is_wanted(path):
            if warning:
                self._found.skip(path, "binary")
            else:
                self._found.add(path, self._lines, self._matches)
        self._raw = raw[warning.end() :] if warning else raw
        self._lines, self._matches, self._tail = [], 0, 0
        return self._raw

    def _is_wanted(self, path: str) -> bool:
        return self._found.wanted is None or self._found.wanted(path.rpartition("/")[2], path)
