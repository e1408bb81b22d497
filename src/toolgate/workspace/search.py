"""Finding text in a file of any size: exact, in flat memory, and blind only to how lines end."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from toolgate.workspace.encoding import Encoding
from toolgate.workspace.threads import Stop

_BUFFER = 1 << 18
_Find = Callable[[bytearray, int, int], Iterator[tuple[int, int]]]


@dataclass(slots=True)
class Found:
    """Where a text is, as byte spans that do not overlap."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    has_nul: bool = False
    """A NUL byte was passed, which no text has."""


def find_text(stop: Stop, fd: int, size: int, text: str, encoding: Encoding, most: int) -> Found:
    """All places of `text`, at most `most`; a line end in it matches whichever the file has."""
    if "\n" in text:
        find, longest = _flexible(text, encoding)
    else:
        find, longest = _literal(encoding.encode(text), encoding.width)
    return _scan(stop, fd, size, len(encoding.bom), find, longest, most, nul=encoding.width == 1)


def _literal(needle: bytes, width: int) -> tuple[_Find, int]:
    def find(buffer: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
        position = buffer.find(needle, start, end)
        while position >= 0:
            if width > 1 and position % width:
                position = buffer.find(needle, position + 1, end)
                continue
            yield position, position + len(needle)
            position = buffer.find(needle, position + len(needle), end)

    return find, len(needle)


def _flexible(text: str, encoding: Encoding) -> tuple[_Find, int]:
    lines = re.split("\r?\n", text)
    end = b"(?:" + re.escape(encoding.encode("\r")) + b")?" + re.escape(encoding.encode("\n"))
    pattern = re.compile(end.join(re.escape(encoding.encode(line)) for line in lines), re.DOTALL)
    longest = len(encoding.encode(text)) + (len(lines) - 1) * encoding.width

    def find(buffer: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
        match = pattern.search(buffer, start, end)
        while match:
            if match.start() % encoding.width:
                match = pattern.search(buffer, match.start() + 1, end)
                continue
            yield match.span()
            match = pattern.search(buffer, match.end(), end)

    return find, longest


def _scan(stop: Stop, fd: int, size: int, start: int, find: _Find, longest: int, most: int, *, nul: bool) -> Found:
    """Search block by block, keeping as much of each as a match across the border needs."""
    found = Found()
    buffer = bytearray(min(size - start + 1, _BUFFER) + 2 * longest)
    view = memoryview(buffer)
    base, filled = start, 0  # the buffer holds the file's bytes from `base`; an even distance keeps code units whole
    while True:
        stop.check()
        count = os.preadv(fd, [view[filled:]], base + filled)
        found.has_nul = found.has_nul or (nul and buffer.find(b"\0", filled, filled + count) >= 0)
        filled += count
        done = 0
        for first, last in find(buffer, 0, filled):
            found.spans.append((base + first, base + last))
            done = last
            if len(found.spans) >= most:
                return found
        if not count:
            return found
        keep = max(done, filled - (longest - 1), 0)
        keep -= keep % 2
        keep = max(keep, done)
        buffer[: filled - keep] = buffer[keep:filled]
        base, filled = base + keep, filled - keep
