"""Finds where the hunks of a patch belong and makes them. Lines are compared exactly, but for how they end."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import split_lines
from toolgate.workspace.nearest import nearest
from toolgate.workspace.oserrors import quote
from toolgate.workspace.patch import Hunk
from toolgate.workspace.threads import Stop

_MOST_LISTED = 20
_EVERY_SO_OFTEN = 1000
_FEW = 8


def apply_hunks(stop: Stop, text: str, hunks: Sequence[Hunk], path: str) -> str:
    """Return `text` with all hunks made. Raises `ToolError` if one does not fit at exactly one place."""
    file = _File(text, path)
    out: list[str] = []
    start = position = 0
    for hunk in hunks:
        start = file.place(stop, hunk, position, start)
        out += file.lines[position:start]
        _make(hunk, file, start, out)
        position = start + len(hunk.old)
    _extend(out, file.lines[position:], file.line_end(position))
    return "".join(out)


def _make(hunk: Hunk, file: "_File", start: int, out: list[str]) -> None:
    """Add the lines of a hunk: those that stay as they are in the file, new ones with the line ends of the old."""
    position = start
    ends: list[str] = []
    for mark, text in hunk.lines:
        if mark == "+":
            end = ends.pop(0) if ends else file.line_end(position)
            _extend(out, [text + end], end)
            continue
        if mark == " ":
            ends = []
            _extend(out, [file.lines[position]], file.line_end(position))
        else:
            ends.append(file.line_end(position))
        position += 1


def _extend(out: list[str], lines: list[str], end: str) -> None:
    """Add lines; a line before them that was the last and had no end gets one."""
    if out and lines and not out[-1].endswith("\n"):
        out[-1] += end
    out += lines


class _File:
    """The lines of a file."""

    def __init__(self, text: str, path: str) -> None:
        self.lines = split_lines(text)
        self._text = text
        self._path = path
        self._searches = 0
        self._bare = (text.replace("\r\n", "\n") if "\r" in text else text).split("\n")
        if not self._bare[-1]:
            self._bare.pop()  # what follows the last line end

    def line_end(self, position: int) -> str:
        """Return how a line ends; one without an end, or after the last, like the line before it."""
        for line in (*self.lines[position : position + 1], *reversed(self.lines[max(0, position - 2) : position])):
            if line.endswith("\n"):
                return "\r\n" if line.endswith("\r\n") else "\n"
        return "\n"

    def place(self, stop: Stop, hunk: Hunk, least: int, previous: int) -> int:
        """Return the line (from 0) at which a hunk goes. The hunk before it goes from `previous` to `least`."""
        starts = self._below_anchors(hunk, least)
        old = hunk.old
        if not old:
            found = [start + 1 for start in starts] if hunk.anchors else [len(self.lines)]
            return found[0] if len(found) == 1 else self._refuse_ambiguous(hunk, found)
        every = self._occurrences(stop, old)
        if hunk.at_end:
            every = [at for at in every if at + len(old) == len(self.lines)]
        behind = every[bisect_left(every, least) :]
        if hunk.anchors:
            indexes = {bisect_left(behind, start) for start in starts}
            behind = [behind[index] for index in sorted(indexes) if index < len(behind)]
        if len(behind) == 1:
            return behind[0]
        if behind:
            return self._refuse_ambiguous(hunk, behind)
        raise self._misplaced(hunk, every, previous, least) if every else self._missing(hunk)

    def _below_anchors(self, hunk: Hunk, least: int) -> list[int]:
        """Return the lines that the anchors may mean: every one of the first, and the next one of each further."""
        starts = [least]
        for depth, anchor in enumerate(hunk.anchors):
            places = list(self._places(anchor)) or self._alike(anchor)
            behind = places[bisect_left(places, least) :]
            if depth:
                indexes = {bisect_left(behind, start) for start in starts}
                behind = [behind[index] for index in sorted(indexes) if index < len(behind)]
            if not behind:
                raise self._no_anchor(hunk, anchor)
            starts = behind
        return starts

    def _places(self, line: str) -> Iterator[int]:
        """Yield where a line occurs. After a few searches through all lines, they are written down once."""
        self._searches += 1
        if self._searches > _FEW:
            yield from self._index.get(line, ())
            return
        at = -1
        with suppress(ValueError):  # the end
            while True:
                at = self._bare.index(line, at + 1)
                yield at

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self._bare):
            found.setdefault(line, []).append(number)
        return found

    def _alike(self, anchor: str) -> list[int]:
        """Where a line occurs with another indentation: an anchor only says where to look."""
        wanted = anchor.strip()
        return [number for number, line in enumerate(self._bare) if line.strip() == wanted]

    def _occurrences(self, stop: Stop, old: list[str]) -> list[int]:
        longest = max(range(len(old)), key=lambda number: len(old[number]))  # it is probably rare
        found: list[int] = []
        for count, place in enumerate(self._places(old[longest])):
            if count % _EVERY_SO_OFTEN == 0:
                stop.check()
            start = place - longest
            if start >= 0 and self._bare[start : start + len(old)] == old:
                found.append(start)
        return found

    def _missing(self, hunk: Hunk) -> ToolError:
        near = nearest(self._text, "\n".join(hunk.old), "\n".join(hunk.new))
        problem = "was not found"
        if hunk.at_end and self._occurrences(Stop(), hunk.old):
            problem = "was found, but not at the end of the file"
        if "start_line" in near:
            problem += f"; the nearest text is at lines {near['start_line']}-{near['end_line']}"
            if difference := near.get("first_difference"):
                actual = difference["actual"]
                there = "the file ends" if actual is None else f"the file has {quote(actual)}"
                problem += (
                    f", where line {difference['line']} differs: {there}, the hunk {quote(difference['expected'])}"
                )
        if near["new_text_present"]:
            problem += ". Its new text is already there"
        step = "Compare data.nearest with the hunk and quote the file exactly, including spaces and indentation."
        if "start_line" not in near:
            step = "Read the file with 'read_file' and quote its lines exactly."
        return self._error(hunk, problem, step, nearest=near)

    def _no_anchor(self, hunk: Hunk, anchor: str) -> ToolError:
        near = nearest(self._text, anchor, "")
        problem = f"names the line {quote(anchor)} after '@@', which was not found behind the hunk before it"
        if "start_line" in near:
            problem += f"; the nearest one is line {near['start_line']}, {quote(near['text'])}"
        return self._error(hunk, problem, "Quote the line as it is in the file, or leave it out.", nearest=near)

    def _misplaced(self, hunk: Hunk, every: list[int], previous: int, least: int) -> ToolError:
        lines = f"lines {every[-1] + 1}-{every[-1] + len(hunk.old)}"
        if every[-1] >= least:
            problem = f"fits at {lines}, which is not below the line that '@@' names"
            return self._error(hunk, problem, "Leave the '@@' line out, or name another one.")
        if every[-1] + len(hunk.old) > previous:
            problem = f"overlaps the hunk before it: it fits at {lines}, and that one reaches to line {least}"
            return self._error(hunk, problem, "Make one hunk out of the two.")
        problem = f"fits at {lines}, which is above the hunk before it"
        return self._error(hunk, problem, "Put the hunks of a file into the order of its lines.")

    def _refuse_ambiguous(self, hunk: Hunk, found: list[int]) -> int:
        lines = [start + 1 for start in found]
        shown = ", ".join(map(str, lines[:_MOST_LISTED])) + (", …" if len(lines) > _MOST_LISTED else "")
        raise self._error(
            hunk,
            f"fits at {len(lines)} places, at lines {shown}",
            "Quote more lines around the place that is meant, or name a line above it with '@@ LINE'.",
            positions=[{"line": line} for line in lines[:_MOST_LISTED]],
        )

    def _error(self, hunk: Hunk, problem: str, step: str, **data: Any) -> ToolError:
        message = f"Hunk {hunk.number} of {quote(self._path)} (line {hunk.line} of the patch) {problem}."
        return ToolError(
            ErrorCode.INVALID_PARAM,
            f"{message} Nothing was changed.",
            step,
            data={"path": self._path, "hunk": hunk.number, **data},
        )
