"""Finds text in a file of any size with little memory, or in memory. The match is exact except for line ends."""

import codecs
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import AnyStr

from toolgate.workspace.encoding import Encoding
from toolgate.workspace.lines import BLOCK, LineIndex
from toolgate.workspace.root import OpenedFile
from toolgate.workspace.threads import Stop

_BUFFER = BLOCK
"""Bytes that are searched at a time. Those that lines are counted in need not be read again for that."""
_ReadInto = Callable[[memoryview, int], int]
_Find = Callable[[bytes | bytearray, int, int], Iterator[tuple[int, int]]]


@dataclass(slots=True)
class TextMatches:
    """Byte spans of the matches, without overlaps."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    has_nul: bool = False
    """Whether a NUL byte was seen, which no text has."""
    damaged: bytes | None = None
    """Bytes around the first position that is not valid text, if requested."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of an open file. Only what is asked for is read."""

    opened: OpenedFile
    at_once: bool = False
    """Whether only little work may be done now; reading raises `BlockingIOError` where it would wait for the disk."""

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self.opened.stat.st_size

    def read(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset."""
        return self.opened.read_cached(length, offset) if self.at_once else self.opened.read(length, offset)

    def _read_into(self, buffer: memoryview, offset: int) -> int:
        return os.preadv(self.opened.fd, [buffer], offset, os.RWF_NOWAIT if self.at_once else 0)

    def find(self, stop: Stop, text: str, index: LineIndex, limit: int, *, check: bool = False) -> TextMatches:
        """Find all positions of `text`, at most `limit`. A line end in it matches any line end of the file.

        The lines up to the first match are counted in `index`. With `check`, everything on the way is decoded
        to see whether it is text.
        """
        find, longest = _finder(text, index.encoding)
        scan = _Scan(index, check)
        scan.run(stop, self._read_into, self.size, find, longest, limit)
        return scan.found


@dataclass(frozen=True, slots=True)
class LoadedContent:
    """A content in memory. `read` and `find` answer as those of `FileContent` do."""

    data: bytes
    at_once: bool = False
    """Whether only little work may be done now."""

    def read(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset."""
        return self.data[offset : offset + length]

    def find(self, stop: Stop, text: str, index: LineIndex, limit: int, *, check: bool = False) -> TextMatches:
        """Find all positions of `text`, at most `limit`."""
        stop.check()
        encoding = index.encoding
        find, _ = _finder(text, encoding)
        data, start = self.data, len(encoding.bom)
        found = TextMatches(spans=list(islice(find(data, start, len(data)), limit)))
        found.has_nul = encoding.width == 1 and data.find(b"\0", start) >= 0
        if check:
            try:
                data[start:].decode(encoding.codec)
            except UnicodeDecodeError as error:
                found.damaged = error.object
        return found


Content = FileContent | LoadedContent


def _finder(text: str, encoding: Encoding) -> tuple[_Find, int]:
    """Return what finds `text` in bytes, and how many bytes a match has at most."""
    return _flexible(text, encoding) if "\n" in text else _literal(encoding.encode(text), encoding.width)


def _literal(needle: bytes, width: int) -> tuple[_Find, int]:
    def find(buffer: bytes | bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
        position = buffer.find(needle, start, end)
        while position >= 0:
            if width > 1 and position % width:
                position = buffer.find(needle, position + 1, end)
                continue
            yield position, position + len(needle)
            position = buffer.find(needle, position + len(needle), end)

    return find, len(needle)


def _flexible(text: str, encoding: Encoding) -> tuple[_Find, int]:
    """Return what finds text with line ends. Its time does not grow with the text, as that of a pattern can."""
    longest = len(encoding.encode(text)) + text.count("\n") * encoding.width

    def find(buffer: bytes | bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
        piece = bytes(buffer[start:end])
        if encoding.width == 1:
            for first, last in _at_any_line_end(piece, encoding.encode(text), b"\r\n", b"\n"):
                yield start + first, start + last
            return
        characters = piece[: len(piece) // encoding.width * encoding.width].decode(encoding.codec, "surrogatepass")
        seen, offset = 0, start
        for span in _at_any_line_end(characters, text, "\r\n", "\n"):
            first = offset + bytes_of(characters[seen : span[0]])
            last = first + bytes_of(characters[slice(*span)])
            yield first, last
            seen, offset = span[1], last

    def bytes_of(characters: str) -> int:
        return len(characters.encode(encoding.codec, "surrogatepass"))

    return find, longest


def _at_any_line_end(raw: AnyStr, text: AnyStr, crlf: AnyStr, lf: AnyStr) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text. Looking for one character is by far the cheapest."""
    bare, wanted = raw, text.replace(crlf, lf)
    if crlf[:1] in raw:
        if raw.count(lf) == raw.count(crlf):
            wanted = wanted.replace(lf, crlf)
        elif text.endswith(crlf[:1]):  # half a line end is found only where it is exactly so
            wanted = text
        else:
            bare = raw.replace(crlf, lf)
    after = last = 0
    while (at := bare.find(wanted, after)) >= 0:
        first = at if bare is raw else _forward(raw, crlf, last, at - after)
        after = at + len(wanted)
        last = after if bare is raw else _forward(raw, crlf, first, len(wanted))
        yield first, last


def _forward(raw: AnyStr, crlf: AnyStr, start: int, length: int) -> int:
    """Return the position that is so far after another one if each CRLF counts as one character."""
    more = 0
    while (found := raw.count(crlf, start, start + length + more + 1)) > more:
        more = found
    return start + length + more


class _Scan:
    """Searches block by block. It keeps enough of each block for a match across the border."""

    def __init__(self, index: LineIndex, check: bool) -> None:
        self.found = TextMatches()
        self._index = index
        self._encoding = index.encoding
        self._decoder = codecs.getincrementaldecoder(index.encoding.codec)() if check else None

    def run(self, stop: Stop, read: _ReadInto, size: int, find: _Find, longest: int, limit: int) -> None:
        found = self.found
        base, filled = len(self._encoding.bom), 0  # the buffer holds the file's bytes from `base`
        step = min(max(size - base, 0) + 1, max(_BUFFER, 4 * longest))
        buffer = bytearray(step + 2 * longest)
        view = memoryview(buffer)
        while True:
            stop.check()
            piece = view[filled : filled + step]
            count = read(piece, base + filled)
            self._inspect(buffer, filled, filled + count)
            if not found.spans:  # whoever shows the first match needs its line number
                self._index.add(base + filled, piece[:count])
            filled += count
            done = 0
            for first, last in find(buffer, 0, filled):
                found.spans.append((base + first, base + last))
                done = last
                if len(found.spans) >= limit:
                    return
            if not count:
                return
            keep = max(filled - (longest - 1), 0)
            keep = max(keep - keep % 2, done)  # an even distance keeps code units whole
            buffer[: filled - keep] = buffer[keep:filled]
            base, filled = base + keep, filled - keep

    def _inspect(self, buffer: bytearray, start: int, end: int) -> None:
        found = self.found
        if self._encoding.width == 1 and buffer.find(b"\0", start, end) >= 0:
            found.has_nul = True
        if self._decoder is None or found.damaged is not None:
            return
        try:
            self._decoder.decode(bytes(buffer[start:end]), start == end)
        except UnicodeDecodeError as error:
            found.damaged = error.object
