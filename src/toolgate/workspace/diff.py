"""Unified diffs in bounded time. Lines that occur once on both sides are used to align the two."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise

CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file"
_STRIDE = 64
"""How many equal lines are skipped at once."""
_SMALL = 40_000
"""Largest product of line counts that `difflib` compares."""

Opcode = tuple[int, int, int, int]
"""Lines a..b of the old text were replaced by lines c..d of the new one."""


@dataclass(slots=True)
class Diff:
    """A diff that is being built, up to a limit."""

    path: str
    limit: int
    """Characters after which the remaining lines are only counted."""
    created: bool = False
    deleted: bool = False
    old_path: str = ""
    """Where the file was, if it moves."""
    added: int = 0
    removed: int = 0
    hidden: int = 0
    """Lines that were left out."""
    _lines: list[str] = field(default_factory=list)
    _size: int = 0

    @property
    def text(self) -> str:
        """Return the diff. If it was cut, its last line says so."""
        if not self._lines:
            return ""
        old = "/dev/null" if self.created else f"a/{self.old_path or self.path}"
        new = "/dev/null" if self.deleted else f"b/{self.path}"
        cut = [f"… diff cut here: {self.hidden} more lines"] if self.hidden else []
        return "\n".join([f"--- {old}", f"+++ {new}", *self._lines, *cut]) + "\n"

    def shorter(self, limit: int) -> str:
        """Return the diff, cut at a line to about `limit` characters."""
        return shorter(self.text, limit, self.hidden)

    def compare(self, old: str, new: str, old_start: int = 1, new_start: int = 1) -> None:
        """Add the hunks between two texts that start at these line numbers."""
        first, end = _changed(old, new)
        skipped = old.count("\n", 0, first)
        old_start, new_start = old_start + skipped, new_start + skipped
        before, after = split_lines(old[first : len(old) - end]), split_lines(new[first : len(new) - end])
        for group in _grouped(opcodes(before, after)):
            self._hunk(before, after, group, old_start, new_start)

    def _hunk(self, old: list[str], new: list[str], group: list[Opcode], old_start: int, new_start: int) -> None:
        first, last = group[0], group[-1]
        a, b = max(0, first[0] - CONTEXT), min(len(old), last[1] + CONTEXT)
        c, d = max(0, first[2] - CONTEXT), min(len(new), last[3] + CONTEXT)
        self._add(f"@@ -{_range(a, b, old_start)} +{_range(c, d, new_start)} @@")
        position = a
        for old_first, old_last, new_first, new_last in group:
            self._add_all(" ", old[position:old_first])
            self._add_all("-", old[old_first:old_last])
            self._add_all("+", new[new_first:new_last])
            self.removed += old_last - old_first
            self.added += new_last - new_first
            position = old_last
        self._add_all(" ", old[position:b])

    def _add_all(self, mark: str, lines: list[str]) -> None:
        for line in lines:
            if line.endswith("\n"):
                self._add(mark + line[:-1])
            else:
                self._add(f"{mark}{line}\n{_NO_NEWLINE}")

    def _add(self, line: str) -> None:
        if self._size > self.limit:
            self.hidden += 1
            return
        self._size += len(line) + 1
        self._lines.append(line)


def shorter(text: str, limit: int, hidden: int = 0) -> str:
    """Cut a diff at a line to about `limit` characters. `hidden` lines were left out of it before."""
    if len(text) <= limit:
        return text
    shown = text[: text.rfind("\n", 0, limit) + 1]
    rest = text.count("\n") - shown.count("\n") + hidden
    return f"{shown}… diff cut here: {rest} more lines\n"


def _changed(old: str, new: str) -> tuple[int, int]:
    """Return how many characters both texts begin and end with alike, in whole lines and without the context."""
    o, n = len(old), len(new)
    first = alike(min(o, n), lambda a, b: old[a:b] == new[a:b])
    end = alike(min(o, n) - first, lambda a, b: old[o - b : o - a] == new[n - b : n - a])
    for _ in range(CONTEXT + 1):
        first = old.rfind("\n", 0, max(first, 0)) if first > 0 else -1
    edge = len(old) - end
    for _ in range(CONTEXT + 1):
        edge = (old.find("\n", edge) + 1) or len(old)
    return first + 1, len(old) - edge


def alike(size: int, holds: Callable[[int, int], bool]) -> int:
    """Return the largest number up to `size` for which `holds(0, number)`. No part is compared twice."""
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(low, middle) else (low, middle - 1)
    return low


def split_lines(text: str) -> list[str]:
    r"""Split into lines that keep their newline. Only `\n` ends a line."""
    return StringIO(text, newline="\n").readlines()


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Return the replaced ranges in order."""
    found: list[Opcode] = []
    pending = [(0, len(old), 0, len(new))]
    while pending:
        a, b, c, d = _trim(old, new, *pending.pop())
        if a == b and c == d:
            continue
        if (b - a, d - c) == (1, 1):
            found.append((a, b, c, d))
            continue
        anchors = [] if a == b or c == d else _anchors(old[a:b], new[c:d])
        if anchors:
            edges = [(a - 1, c - 1), *((a + i, c + j) for i, j in anchors), (b, d)]
            pending += [(i + 1, k, j + 1, m) for (i, j), (k, m) in pairwise(edges) if (k, m) != (i + 1, j + 1)]
        elif 0 < (b - a) * (d - c) <= _SMALL:
            found += _compared(old[a:b], new[c:d], a, c)
        else:
            found.append((a, b, c, d))
    return sorted(found)


def _trim(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> Opcode:
    while b - a > _STRIDE < d - c and old[a : a + _STRIDE] == new[c : c + _STRIDE]:
        a, c = a + _STRIDE, c + _STRIDE
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while b - a > _STRIDE < d - c and old[b - _STRIDE : b] == new[d - _STRIDE : d]:
        b, d = b - _STRIDE, d - _STRIDE
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return a, b, c, d


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest sequence of lines that occur exactly once on each side, in the same order on both."""
    once = {line for line, count in Counter(old).items() if count == 1}
    once &= {line for line, count in Counter(new).items() if count == 1}
    if not once:
        return []
    place = {line: position for position, line in enumerate(new) if line in once}
    pairs = [(position, place[line]) for position, line in enumerate(old) if line in once]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, other) in enumerate(pairs):
        length = bisect_left(tails, other)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(other)
            ends.append(index)
        else:
            tails[length], ends[length] = other, index
    chain: list[tuple[int, int]] = []
    index = ends[-1]
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _compared(old: Sequence[str], new: Sequence[str], a: int, c: int) -> list[Opcode]:
    import difflib

    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [(a + i, a + j, c + k, c + m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _grouped(codes: list[Opcode]) -> Iterator[list[Opcode]]:
    group: list[Opcode] = []
    for code in codes:
        if group and code[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(code)
    if group:
        yield group


def _range(first: int, last: int, start: int) -> str:
    length = last - first
    line = start + first if length else start + first - 1
    return f"{line}" if length == 1 else f"{line},{length}"
