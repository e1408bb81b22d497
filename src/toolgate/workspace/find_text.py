"""Finds text in a file of any size with little memory, or in memory. The match is exact except for line ends."""

import codecs
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from toolgate.workspace.encoding import Encoding
from toolgate.workspace.threads import Stop

_BUFFER = 1 << 18
_Find = Callable[[bytes | bytearray, int, int], Iterator[tuple[int, int]]]


@dataclass(slots=True)
class Found:
    """Byte spans of the matches, without overlaps."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    has_nul: bool = False
    """Whether a NUL byte was seen, which no text has."""
    damaged: bytes | None = None
    """Bytes around the first position that is not valid text, if requested."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of an open file. Only what is asked for is read."""

    fd: int
    size: int

    def read(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset."""
        return os.pread(self.fd, length, offset)

    def find(self, stop: Stop, text: str, encoding: Encoding, limit: int, *, check: bool = False) -> Found:
        """Find all positions of `text`, at most `limit`. A line end in it matches any line end of the file.

        With `check`, everything on the way is decoded to see whether it is text.
        """
        find, longest = _finder(text, encoding)
        scan = _Scan(encoding, check)
        scan.run(stop, self.fd, self.size, find, longest, limit)
        return scan.found


@dataclass(frozen=True, slots=True)
class LoadedContent:
    """A content in memory. `read` and `find` answer as those of `FileContent` do."""

    data: bytes

    def read(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset."""
        return self.data[offset : offset + length]

    def find(self, stop: Stop, text: str, encoding: Encoding, limit: int, *, check: bool = False) -> Found:
        """Find all positions of `text`, at most `limit`."""
        stop.check()
        find, _ = _finder(text, encoding)
        data, start = self.data, len(encoding.bom)
        found = Found(spans=list(islice(find(data, start, len(data)), limit)))
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
    lines = re.split("\r?\n", text)
    end = b"(?:" + re.escape(encoding.encode("\r")) + b")?" + re.escape(encoding.encode("\n"))
    pattern = re.compile(end.join(re.escape(encoding.encode(line)) for line in lines), re.DOTALL)
    longest = len(encoding.encode(text)) + (len(lines) - 1) * encoding.width

    def find(buffer: bytes | bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
        match = pattern.search(buffer, start, end)
        while match:
            if match.start() % encoding.width:
                match = pattern.search(buffer, match.start() + 1, end)
                continue
            yield match.span()
            match = pattern.search(buffer, match.end(), end)

    return find, longest


class _Scan:
    """Searches block by block. It keeps enough of each block for a match across the border."""

    def __init__(self, encoding: Encoding, check: bool) -> None:
        self.found = Found()
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding.codec)() if check else None

    def run(self, stop: Stop, fd: int, size: int, find: _Find, longest: int, limit: int) -> None:
        found = self.found
        base, filled = len(self._encoding.bom), 0  # the buffer holds the file's bytes from `base`
        buffer = bytearray(min(max(size - base, 0) + 1, _BUFFER) + 2 * longest)
        view = memoryview(buffer)
        while True:
            stop.check()
            count = os.preadv(fd, [view[filled:]], base + filled)
            self._inspect(buffer, filled, filled + count)
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
