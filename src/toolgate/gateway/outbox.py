"""What waits to be sent to one client: bounded, in order, and never a reason for others to wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_BYTES = 8 * 1024 * 1024
"""Characters of frames that may wait."""
MOST_TEXT = 1024 * 1024
"""Above this, text in the making is not queued: it comes from the log once its message is stored."""
_MERGES = 64
"""Frames that wait when text begins to be sent in larger pieces."""
_LARGEST_PIECE = 64 * 1024
_AT_ONCE = 32
"""Frames that are written before others get their turn."""

TOO_SLOW = 4008
"""The close code for a client that does not read; it may come back and ask for what it missed."""


class Pieces:
    """Text that waits and may still grow."""

    __slots__ = ("_build", "parts", "size", "writer")

    def __init__(self, writer: Hashable, build: Callable[[str], str], text: str) -> None:
        self.writer = writer
        self._build = build
        self.parts = [text]
        self.size = len(text)

    def frame(self) -> str:
        """The frame that is sent."""
        return self._build("".join(self.parts))


class Outbox:
    """The queue of one connection."""

    def __init__(self, send: Send, most_bytes: int = MOST_BYTES) -> None:
        self._send = send
        self._most = most_bytes
        self._items: deque[str | Pieces] = deque()
        self._size = 0
        self._news: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._closing: tuple[int, str] | None = None
        self.sending_since: float | None = None
        """When the frame was begun that is being written, by the loop's clock; None while nothing is."""

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closing is not None

    @property
    def size(self) -> int:
        """Characters that wait."""
        return self._size

    def put(self, frame: str) -> None:
        """Queue a frame. If too much waits already, the connection is closed: nothing is lost, it is in the log."""
        if self._closing is not None:
            return
        if self._size + len(frame) > self._most and self._items:
            self.close(TOO_SLOW, "too slow: reconnect and subscribe after the last seq")
            return
        self._items.append(frame)
        self._size += len(frame)
        self._wake()

    def put_text(self, writer: Hashable, build: Callable[[str], str], text: str) -> bool:
        """Queue a piece of text, together with the one before where many wait; False if there is no room for it."""
        if self._closing is not None or self._size > MOST_TEXT:
            return False
        if len(self._items) < _MERGES:
            frame = build(text)
            self._items.append(frame)
            self._size += len(frame)
            self._wake()
            return True
        last = self._items[-1]
        if type(last) is Pieces and last.writer == writer and last.size < _LARGEST_PIECE:
            last.parts.append(text)
            last.size += len(text)
        else:
            self._items.append(Pieces(writer, build, text))
        self._size += len(text)
        return True

    def close(self, code: int, reason: str) -> None:
        """Send nothing more but the end."""
        if self._closing is None:
            self._closing = code, reason
            self._items.clear()
            self._size = 0
            self._wake()
            self._rest()

    async def room(self) -> None:
        """Wait until at most half of what may wait does."""
        while self._size > MOST_TEXT // 2 and self._closing is None:
            if self._room is None or self._room.done():
                self._room = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._room)

    async def sent(self) -> None:
        """Wait until nothing waits any more: it is written, or will never be."""
        while self._closing is None and (self._items or self.sending_since is not None):
            if self._idle is None:
                self._idle = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._idle)

    async def run(self) -> None:
        """Write what comes, until it is closed."""
        loop = asyncio.get_running_loop()
        while self._closing is None:
            if not self._items:
                self._news = loop.create_future()
                await self._news
            self.sending_since = loop.time()
            for _ in range(min(len(self._items), _AT_ONCE)):
                if not self._items:
                    break  # closed meanwhile
                await self._write(self._items.popleft())
            self.sending_since = None
            self._rest()
            if self._room is not None and not self._room.done() and self._size <= MOST_TEXT // 2:
                self._room.set_result(None)
            await asyncio.sleep(0)
        code, reason = self._closing
        self.sending_since = loop.time()
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def _write(self, item: str | Pieces) -> None:
        if type(item) is str:
            self._size -= len(item)
            await self._send({"type": "websocket.send", "text": item})
        else:
            assert isinstance(item, Pieces)
            self._size -= item.size
            await self._send({"type": "websocket.send", "text": item.frame()})

    def _rest(self) -> None:
        if self._idle is not None:
            self._idle.set_result(None)
            self._idle = None

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
