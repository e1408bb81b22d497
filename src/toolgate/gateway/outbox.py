"""The send queue of one client: ordered, limited, and never blocking others."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from typing import Any

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_QUEUED = 8 * 1024 * 1024
"""Maximum characters of queued frames."""
MAX_QUEUED_TEXT = 1024 * 1024
"""Above this, live text is not queued: it is sent from the log once its message is stored."""
_MERGE_FROM = 64
"""Number of queued frames from which live text is merged into larger pieces."""
_MAX_MERGED_TEXT = 64 * 1024
_BATCH = 32
"""Frames written in a row before other tasks run."""

TOO_SLOW = 4008
"""The close code for a client that reads too slowly; it may reconnect and ask for what it missed."""


class QueuedText:
    """Queued text that may still grow."""

    __slots__ = ("_build", "parts", "size", "writer")

    def __init__(self, writer: Hashable, build: Callable[[str], str], text: str) -> None:
        self.writer = writer
        self._build = build
        self.parts = [text]
        self.size = len(text)

    def frame(self) -> str:
        """Build the frame."""
        return self._build("".join(self.parts))


class Outbox:
    """The send queue of one connection."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._items: deque[str | QueuedText] = deque()
        self._size = 0
        self._news: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._closing: tuple[int, str] | None = None
        self.sending_since: float | None = None
        """When the current write started, by the loop's clock; None if there is none."""

    @property
    def closed(self) -> bool:
        """Whether nothing more is accepted."""
        return self._closing is not None

    @property
    def size(self) -> int:
        """Characters in the queue."""
        return self._size

    def put(self, frame: str) -> None:
        """Queue a frame. If the queue is too long, the connection is closed; the log still has everything."""
        if self._closing is not None:
            return
        if self._size + len(frame) > MAX_QUEUED and self._items:
            self.close(TOO_SLOW, "too slow: reconnect and subscribe after the last seq")
            return
        self._items.append(frame)
        self._size += len(frame)
        self._wake()

    def put_text(self, writer: Hashable, build: Callable[[str], str], text: str) -> bool:
        """Queue a piece of text, merged with the last one if many are queued. Return False if there is no room."""
        if self._closing is not None or self._size > MAX_QUEUED_TEXT:
            return False
        if len(self._items) < _MERGE_FROM:
            frame = build(text)
            self._items.append(frame)
            self._size += len(frame)
            self._wake()
            return True
        last = self._items[-1]
        if type(last) is QueuedText and last.writer == writer and last.size < _MAX_MERGED_TEXT:
            last.parts.append(text)
            last.size += len(text)
        else:
            self._items.append(QueuedText(writer, build, text))
        self._size += len(text)
        return True

    def close(self, code: int, reason: str) -> None:
        """Drop the queue and send only the close frame."""
        if self._closing is None:
            self._closing = code, reason
            self._items.clear()
            self._size = 0
            self._wake()
            self._wake_idle()

    async def room(self) -> None:
        """Wait until the queue is at most half full."""
        while self._size > MAX_QUEUED_TEXT // 2 and self._closing is None:
            if self._room is None or self._room.done():
                self._room = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._room)

    async def sent(self) -> None:
        """Wait until the queue is empty: everything is written or dropped."""
        while self._closing is None and (self._items or self.sending_since is not None):
            if self._idle is None:
                self._idle = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._idle)

    async def run(self) -> None:
        """Write queued frames until the outbox is closed."""
        loop = asyncio.get_running_loop()
        while self._closing is None:
            if not self._items:
                self._news = loop.create_future()
                await self._news
            self.sending_since = loop.time()
            for _ in range(min(len(self._items), _BATCH)):
                if not self._items:
                    break  # closed meanwhile
                await self._write(self._items.popleft())
            self.sending_since = None
            self._wake_idle()
            if self._room is not None and not self._room.done() and self._size <= MAX_QUEUED_TEXT // 2:
                self._room.set_result(None)
            await asyncio.sleep(0)
        code, reason = self._closing
        self.sending_since = loop.time()
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def _write(self, item: str | QueuedText) -> None:
        if type(item) is str:
            self._size -= len(item)
            await self._send({"type": "websocket.send", "text": item})
        else:
            assert isinstance(item, QueuedText)
            self._size -= item.size
            await self._send({"type": "websocket.send", "text": item.frame()})

    def _wake_idle(self) -> None:
        if self._idle is not None:
            self._idle.set_result(None)
            self._idle = None

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
