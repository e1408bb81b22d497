"""Decodes server-sent events, in linear time and with a limit on the size of one event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of one event: four times the largest message, because JSON escapes make text longer."""

_LINE_COST: Final = 64
"""Bytes added to the size of each line, because many short lines also take time."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """One event, or one line of it, has more than `MAX_EVENT_BYTES` bytes."""


class EventDecoder:
    """Takes the bytes of a stream in pieces of any size and yields the events that are complete."""

    def __init__(self) -> None:
        self._size = 0
        """Bytes of the current event so far."""
        self._line = bytearray()
        """The current, incomplete line."""
        self._after_return = False
        self._at_start = True
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str, str]]:
        """Yield the name and data of each event that ends in this piece.

        Raises `EventTooLarge`, and `UnicodeDecodeError` for bytes that are not UTF-8.
        """
        if self._after_return and piece[:1] == b"\n":
            piece = piece[1:]
        self._after_return = piece[-1:] == b"\r"
        *ended, rest = _LINE_END.split(piece)
        for end in ended:
            self._grow(len(end) + _LINE_COST)
            line = end
            if self._line:
                line = bytes(self._line + end)
                self._line.clear()
            if line:
                self._field(line)
            elif (event := self._event()) is not None:
                yield event
        if rest:
            self._grow(len(rest))
            self._line += rest

    def _grow(self, more: int) -> None:
        self._size += more
        if self._size > MAX_EVENT_BYTES:
            raise EventTooLarge(f"one event has more than {MAX_EVENT_BYTES} bytes")

    def _field(self, line: bytes) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        name, _, value = line.partition(b":")  # a comment has no name
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value

    def _event(self) -> tuple[str, str] | None:
        """Return the event that a blank line ends; None if there were only comments."""
        event = (self._name.decode(), b"\n".join(self._data).decode()) if self._name or self._data else None
        self._name, self._data, self._size = b"", [], 0
        return event
