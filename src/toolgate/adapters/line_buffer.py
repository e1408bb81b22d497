"""Splits a stream of bytes into lines, one message per line, and keeps only the ends of a line that is too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_EDGE = 512


class LineTooLong(NamedTuple):
    """A line that was not kept because of its size."""

    size: int
    limit: int
    start: bytes
    """Its first bytes: the id of a message is there or at the end."""
    end: bytes


class LineBuffer:
    """Assembles lines from chunks, and keeps at most `limit` bytes of each. Blank lines are dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._start = self._end = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """Yield the lines that end in this chunk."""
        first, *others = chunk.split(b"\n")
        self._add(first)
        for piece in others:
            yield from self.finish()
            self._add(piece)

    def finish(self) -> Iterator[bytes | LineTooLong]:
        """Yield the line that has begun, as if it ended here."""
        if self._size > self._limit:
            yield LineTooLong(self._size, self._limit, self._start, self._end)
        elif (line := b"".join(self._pieces)).strip():
            yield line
        self._clear()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._pieces.append(piece)
            return
        if self._pieces:
            before = b"".join(self._pieces)
            self._start, self._end = before[:_EDGE], before[-_EDGE:]
            self._pieces.clear()
        if len(self._start) < _EDGE:
            self._start = (self._start + piece)[:_EDGE]
        self._end = (self._end + piece)[-_EDGE:]
