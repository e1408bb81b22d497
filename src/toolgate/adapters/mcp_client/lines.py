"""Splits a server's output into lines, one message per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_EDGE = 512
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"]{1,64}")')


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTooLong:
    """A line that was discarded because of its size."""

    size: int
    ids: frozenset[str]
    """Ids near its start or its end; one of them is probably the message's own."""


class LineBuffer:
    """Assembles lines from chunks and keeps at most `limit` bytes of each."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._start = b""
        self._end = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """Yield the lines that end in this chunk."""
        while chunk:
            piece, newline, chunk = chunk.partition(b"\n")
            self._add(piece)
            if newline:
                yield self._finished()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._pieces.append(piece)
            return
        if self._pieces:
            self._start = b"".join(self._pieces)[:_EDGE]
            self._pieces.clear()
        self._start = (self._start + piece)[:_EDGE] if len(self._start) < _EDGE else self._start
        self._end = (self._end + piece)[-_EDGE:]

    def _finished(self) -> bytes | LineTooLong:
        line: bytes | LineTooLong
        if self._size > self._limit:
            found = _ID.findall(self._start) + _ID.findall(self._end)
            line = LineTooLong(
                size=self._size, ids=frozenset(item.strip(b'"').decode("ascii", "replace") for item in found)
            )
        else:
            line = b"".join(self._pieces)
        self._pieces, self._size, self._start, self._end = [], 0, b"", b""
        return line
