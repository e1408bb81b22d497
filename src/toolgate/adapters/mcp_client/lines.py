"""Messages of a server, one a line, out of the pieces that a pipe delivers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_EDGE = 512
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"]{1,64}")')


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLong:
    """A line that was thrown away as it came in."""

    size: int
    ids: frozenset[str]
    """The ids that stand near its beginning or its end: one of them is probably the message's own."""


class Lines:
    """Puts lines together and keeps no more of one than `largest` bytes."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._pieces: list[bytes] = []
        self._size = 0
        self._start = b""
        self._end = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in this piece."""
        while chunk:
            piece, newline, chunk = chunk.partition(b"\n")
            self._add(piece)
            if newline:
                yield self._finished()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._largest:
            self._pieces.append(piece)
            return
        if self._pieces:
            self._start = b"".join(self._pieces)[:_EDGE]
            self._pieces.clear()
        self._start = (self._start + piece)[:_EDGE] if len(self._start) < _EDGE else self._start
        self._end = (self._end + piece)[-_EDGE:]

    def _finished(self) -> bytes | TooLong:
        line: bytes | TooLong
        if self._size > self._largest:
            found = _ID.findall(self._start) + _ID.findall(self._end)
            line = TooLong(
                size=self._size, ids=frozenset(item.strip(b'"').decode("ascii", "replace") for item in found)
            )
        else:
            line = b"".join(self._pieces)
        self._pieces, self._size, self._start, self._end = [], 0, b"", b""
        return line
