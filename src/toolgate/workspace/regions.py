"""Builds the diff of a change in a file of any size. Only the lines around the change are read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolgate.workspace.diff import CONTEXT, Diff
from toolgate.workspace.encoding import Encoding
from toolgate.workspace.lines import LineIndex, Read
from toolgate.workspace.threads import Stop

_REACH = 1 << 14
"""Bytes before and after a change in which line ends are looked for."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """New bytes for a span of a file."""

    start: int
    end: int
    new: bytes


@dataclass(slots=True)
class _Region:
    start: int
    end: int
    cut_before: bool
    cut_after: bool
    replacements: list[Replacement]


def describe(stop: Stop, diff: Diff, read: Read, index: LineIndex, replacements: Sequence[Replacement]) -> None:
    """Add the hunks of all replacements, which are sorted and do not overlap."""
    shift = shown = 0
    for region in _regions(read, index, replacements):
        if diff.hidden:
            diff.hidden += len(replacements) - shown
            return
        shown += len(region.replacements)
        index.extend(read, stop, offset=region.start)
        line = index.line_at(read, region.start) or 1
        old = read(region.end - region.start, region.start)
        new = apply(old, region.start, region.replacements)
        before, after = _text(old, region, index.encoding), _text(new, region, index.encoding)
        diff.compare(before, after, line, line + shift)
        shift += after.count("\n") - before.count("\n")


def apply(content: bytes, offset: int, replacements: Sequence[Replacement]) -> bytes:
    """Return `content`, which starts at `offset` of the file, with the replacements made."""
    view = memoryview(content)
    pieces: list[bytes | memoryview] = []
    position = 0
    for replacement in replacements:
        pieces += [view[position : replacement.start - offset], replacement.new]
        position = replacement.end - offset
    return b"".join([*pieces, view[position:]])


def _text(content: bytes, region: _Region, encoding: Encoding) -> str:
    text = content.decode(encoding.codec, "replace")
    return ("…" if region.cut_before else "") + text + ("…\n" if region.cut_after else "")


def _regions(read: Read, index: LineIndex, replacements: Sequence[Replacement]) -> Iterator[_Region]:
    last: _Region | None = None
    for replacement in replacements:
        region = _around(read, index, replacement)
        if last is not None and region.start <= last.end:
            last.end, last.cut_after = max(last.end, region.end), region.cut_after
            last.replacements.append(replacement)
            continue
        if last is not None:
            yield last
        last = region
    if last is not None:
        yield last


def _around(read: Read, index: LineIndex, replacement: Replacement) -> _Region:
    first = max(len(index.encoding.bom), replacement.start - _REACH)
    before = read(replacement.start - first, first)
    start = _back(before, CONTEXT + 1, index.encoding)
    cut_before = start is None and first > len(index.encoding.bom)
    after = read(min(_REACH, index.end - replacement.end), replacement.end)
    end = _forward(after, CONTEXT + 1, index.encoding)
    last = replacement.end + (len(after) if end is None else end)
    return _Region(
        start=first + (start or 0),
        end=last,
        cut_before=cut_before,
        cut_after=end is None and last < index.end,
        replacements=[replacement],
    )


def _back(data: bytes, newlines: int, encoding: Encoding) -> int | None:
    """Return the offset after the newline with this number, counted from the end."""
    newline, position = encoding.encode("\n"), len(data)
    while newlines:
        position = data.rfind(newline, 0, position)
        if position < 0:
            return None
        newlines -= position % encoding.width == 0
    return position + len(newline)


def _forward(data: bytes, newlines: int, encoding: Encoding) -> int | None:
    """Return the offset after the newline with this number."""
    newline, position = encoding.encode("\n"), -1
    while newlines:
        position = data.find(newline, position + 1)
        if position < 0:
            return None
        newlines -= position % encoding.width == 0
    return position + len(newline)
