"""Finds where the hunks of a patch belong and makes them. Lines are compared exactly, but for how they end."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import split_lines
from toolgate.workspace.nearest import nearest
from toolgate.workspace.oserrors import quote
from toolgate.workspace.patch import Hunk
from toolgate.workspace.threads import Stop

_MAX_LISTED = 20
_EVERY_SO_OFTEN = 1000
_MAX_SEARCHES = 8


def apply_hunks(stop: Stop, text: str, hunks: Sequence[Hunk], path: str) -> str:
    """Return `text` with all hunks made. Raises `ToolError` if one does not fit at exactly one place."""
    file = _File(text, path)
    out: list[str] = []
    start = position = 0
    for hunk in hunks:
        start = file.place(stop, hunk, position, start)
        if start > position:
            out.append(file.between(position, start))
        position = _make(hunk, file, start, out)
    if position < file.end:
        _extend(out, file.between(position, file.end), file.line_end(position))
    return "".join(out)


def _make(hunk: Hunk, file: "_File", position: int, out: list[str]) -> int:
    """Add the lines of a hunk: those that stay as they are in the file, new ones with the line ends of the old.

    Returns the position after them.
    """
    ends: list[str] = []
    for mark, text in hunk.lines:
        if mark == "+":
            end = ends.pop(0) if ends else file.line_end(position)
            _extend(out, text + end, end)
            continue
        following = file.next_line(position)
        if mark == " ":
            ends = []
            _extend(out, file.between(position, following), file.line_end(position))
        else:
            ends.append(file.line_end(position))
        position = following
    return position


def _extend(out: list[str], text: str, end: str) -> None:
    """Add text; a line before it that was the last and had no end gets one."""
    if out and not out[-1].endswith("\n"):
        out[-1] += end
    out.append(text)


class _File:
    """The lines of a file. A position is where a line begins in the text whose line ends are all the same."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._searches = 0
        self._bare = text.replace("\r\n", "\n") if "\r" in text else text
        self._padded = f"\n{self._bare}" if not text or text.endswith("\n") else f"\n{self._bare}\n"
        """With a line end before and after each line: where one is found, the position of the line is the same."""
        self.end = len(self._bare)
        """The position after the last line."""

    def between(self, first: int, last: int) -> str:
        """Return the text between two positions, as it is in the file."""
        if self._bare is not self._text:
            first, last = self._real(first), self._real(last)
        return self._text[first:last]

    def _real(self, position: int) -> int:
        """Return where a position is in the file's own text."""
        return self._real_starts[bisect_left(self._starts, position)]

    @cached_property
    def _starts(self) -> list[int]:
        """The positions of all lines, and the one after the last."""
        return _starts_of(self._bare)

    @cached_property
    def _real_starts(self) -> list[int]:
        return _starts_of(self._text)

    def next_line(self, position: int) -> int:
        """Return the position of the next line."""
        return self._bare.find("\n", position) + 1 or self.end

    def line_end(self, position: int) -> str:
        """Return how a line ends; one without an end, or after the last, like the line before it."""
        if self._bare is self._text:
            return "\n"
        number = bisect_left(self._starts, position)
        for first in range(number, max(number - 3, -1), -1):
            line = self._text[slice(*self._real_starts[first : first + 2])] if first + 1 < len(self._starts) else ""
            if line.endswith("\n"):
                return "\r\n" if line.endswith("\r\n") else "\n"
        return "\n"

    def place(self, stop: Stop, hunk: Hunk, earliest: int, previous: int) -> int:
        """Return the position at which a hunk goes. The hunk before it goes from `previous` to `earliest`."""
        starts = self._below_anchors(stop, hunk, earliest)
        old = hunk.old
        if not old:
            found = [self.next_line(start) for start in starts] if hunk.anchors else [self.end]
            return found[0] if len(found) == 1 else self._refuse_ambiguous(hunk, found)
        every = self._occurrences(stop, old)
        if hunk.at_end:
            every = [at for at in every if self._end_of(at, old) == self.end]
        possible = every[bisect_left(every, earliest) :]
        if hunk.anchors:
            indexes = {bisect_left(possible, start) for start in starts}
            possible = [possible[index] for index in sorted(indexes) if index < len(possible)]
        if len(possible) == 1:
            return possible[0]
        if possible:
            return self._refuse_ambiguous(hunk, possible)
        raise self._misplaced(hunk, every, previous, earliest) if every else self._missing(hunk)

    def _end_of(self, position: int, lines: list[str]) -> int:
        """Return the position after lines that begin at a position."""
        return min(position + sum(map(len, lines)) + len(lines), self.end)

    def _below_anchors(self, stop: Stop, hunk: Hunk, earliest: int) -> list[int]:
        """Return the lines that the anchors may mean: every one of the first, and the next one of each further."""
        starts = [earliest]
        for depth, anchor in enumerate(hunk.anchors):
            places = self._occurrences(stop, [anchor]) or self._alike(anchor)
            possible = places[bisect_left(places, earliest) :]
            if depth:
                indexes = {bisect_left(possible, start) for start in starts}
                possible = [possible[index] for index in sorted(indexes) if index < len(possible)]
            if not possible:
                raise self._no_anchor(hunk, anchor)
            starts = possible
        return starts

    def _occurrences(self, stop: Stop, lines: list[str]) -> list[int]:
        """Return where these lines occur. After a few searches through the text, its lines are written down once."""
        wanted = "\n".join(["", *lines, ""])
        self._searches += 1
        if self._searches > _MAX_SEARCHES:
            return self._indexed_occurrences(stop, lines, wanted)
        found: list[int] = []
        at = self._padded.find(wanted)
        while at >= 0:
            if len(found) % _EVERY_SO_OFTEN == 0:
                stop.check()
            found.append(at)
            at = self._padded.find(wanted, at + 1)
        return found

    def _indexed_occurrences(self, stop: Stop, lines: list[str], wanted: str) -> list[int]:
        longest = max(range(len(lines)), key=lambda number: len(lines[number]))  # it is probably rare
        found: list[int] = []
        for count, number in enumerate(self._index.get(lines[longest], ())):
            if count % _EVERY_SO_OFTEN == 0:
                stop.check()
            if number >= longest and self._padded.startswith(wanted, self._starts[number - longest]):
                found.append(self._starts[number - longest])
        return found

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        """The numbers (from 0) of every line."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self._bare_lines):
            found.setdefault(line, []).append(number)
        return found

    @property
    def _bare_lines(self) -> list[str]:
        return self._padded.split("\n")[1:-1]

    def _alike(self, anchor: str) -> list[int]:
        """Where a line occurs with another indentation: an anchor only says where to look."""
        wanted = anchor.strip()
        return [self._starts[number] for number, line in enumerate(self._bare_lines) if line.strip() == wanted]

    def _number(self, position: int) -> int:
        """Return the number (from 1) of the line at a position."""
        unended = 0 < position == self.end and not self._bare.endswith("\n")
        return self._bare.count("\n", 0, position) + 1 + unended

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
        problem = f"names the line {quote(anchor)} after '@@', which was not found after the hunk before it"
        if "start_line" in near:
            problem += f"; the nearest one is line {near['start_line']}, {quote(near['text'])}"
        return self._error(hunk, problem, "Quote the line as it is in the file, or leave it out.", nearest=near)

    def _misplaced(self, hunk: Hunk, every: list[int], previous: int, earliest: int) -> ToolError:
        first = self._number(every[-1])
        lines = f"lines {first}-{first + len(hunk.old) - 1}"
        if every[-1] >= earliest:
            problem = f"fits at {lines}, which is not below the line that '@@' names"
            return self._error(hunk, problem, "Leave the '@@' line out, or name another one.")
        if self._end_of(every[-1], hunk.old) > previous:
            last = self._number(earliest) - 1
            problem = f"overlaps the hunk before it: it fits at {lines}, and that one reaches to line {last}"
            return self._error(hunk, problem, "Make one hunk out of the two.")
        problem = f"fits at {lines}, which is above the hunk before it"
        return self._error(hunk, problem, "Put the hunks of a file into the order of its lines.")

    def _refuse_ambiguous(self, hunk: Hunk, found: list[int]) -> int:
        lines = [self._number(position) for position in found[:_MAX_LISTED]]
        shown = ", ".join(map(str, lines)) + (", …" if len(found) > _MAX_LISTED else "")
        raise self._error(
            hunk,
            f"fits at {len(found)} places, at lines {shown}",
            "Quote more lines around the place that is meant, or name a line above it with '@@ LINE'.",
            positions=[{"line": line} for line in lines],
        )

    def _error(self, hunk: Hunk, problem: str, step: str, **data: Any) -> ToolError:
        message = f"Hunk {hunk.number} of {quote(self._path)} (line {hunk.line} of the patch) {problem}."
        return ToolError(
            ErrorCode.INVALID_PARAM,
            f"{message} Nothing was changed.",
            step,
            data={"path": self._path, "hunk": hunk.number, **data},
        )


def _starts_of(text: str) -> list[int]:
    """Return where each line of a text begins, and where the text ends."""
    return [0, *accumulate(map(len, split_lines(text)))]
