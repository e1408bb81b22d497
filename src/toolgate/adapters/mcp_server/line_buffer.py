"""Splits the input of a server into lines, without keeping lines that are too long. It does not need the SDK."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_LINE_BYTES = 16 << 20
"""Maximum bytes of one message. The arguments of a call are also limited to 1 MiB."""
_EDGE = 512
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,128}")'
_HEAD = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID)
_TAIL = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\s*\}\s*$")


class LineBuffer:
    """Splits input into lines. Only the edges of a line that is too long are kept."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._size = 0
        """Bytes of the current line, including those that were not kept."""
        self._head = b""
        """The start of a line that was not kept whole."""

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Return the lines that are complete now."""
        lines: list[bytes | LineTooLong] = []
        while (end := data.find(b"\n")) >= 0:
            self._keep(data[:end])
            lines.append(self._take())
            data = data[end + 1 :]
        self._keep(data)
        return [line for line in lines if isinstance(line, LineTooLong) or line.strip()]

    def end(self) -> list[bytes | LineTooLong]:
        """Return the last line after the end of the input."""
        return self.feed(b"\n") if self._size else []

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        self._rest += piece
        if self._size > self._limit:
            self._head = self._head or bytes(self._rest[:_EDGE])
            del self._rest[:-_EDGE]

    def _take(self) -> bytes | LineTooLong:
        line, size, head = bytes(self._rest), self._size, self._head
        self._rest.clear()
        self._size, self._head = 0, b""
        return line if size <= self._limit else LineTooLong(head, line, size, self._limit)


class LineTooLong:
    """A message that was not kept. Its id is searched at the start and the end, where clients write it."""

    def __init__(self, head: bytes, tail: bytes, size: int, limit: int) -> None:
        found = _HEAD.search(head) or _TAIL.search(tail)
        self.id: str | int | None = json.loads(found.group(1)) if found else None
        self.message = f"The message has {size} bytes; at most {limit} are read. Send less at a time."


def duplicate_key(text: bytes) -> str | None:
    """Return a key that occurs twice in one object: the person could see one value while the other one runs."""
    try:
        json.loads(text, object_pairs_hook=_reject_duplicates)
    except _DuplicateKey as error:
        return str(error)
    except (ValueError, RecursionError):
        return None  # the next parser reports the error
    return None


class _DuplicateKey(Exception):
    """A key occurs twice."""


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKey(next(key for key in keys if keys.count(key) > 1))
    return found
