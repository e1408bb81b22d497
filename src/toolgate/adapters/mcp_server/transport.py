"""Adapts two file descriptors to the streams that the SDK uses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import stat
from collections import deque
from collections.abc import Callable
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from toolgate.adapters.mcp_server.lines import LineBuffer, LineTooLong, error_response, parse_message

GRACE = 1.0
"""Seconds that calls have to finish after the client closed stdin but still reads: `printf … | toolgate mcp`."""
_CHUNK = 1 << 16
_MAX_BACKLOG = 1 << 18
"""Maximum bytes that wait for a slow client before senders wait too."""
_MAX_BUFFERED_LINES = 256
"""Maximum number of buffered lines. Beyond it, no more input is read and the client waits."""


class Outgoing:
    """The output to the client. A message is queued whole, so a cancellation never leaves half a line."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._backlog = bytearray()
        self._drained = asyncio.Event()
        self._writes = False
        self.open: set[Any] = set()
        """Ids of requests without a response so far."""
        self.settled = asyncio.Event()
        """Set when a request was answered."""
        self.broken = False
        """Whether the client has stopped reading."""
        self.on_broken: Callable[[], object] = self.settled.set
        mode = os.fstat(fd).st_mode
        self._is_pollable = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    def __enter__(self) -> Self:
        if self._is_pollable:
            os.set_blocking(self._fd, False)
        return self

    def __exit__(self, *_: object) -> None:
        self._listen(wanted=False)
        if self._is_pollable:
            os.set_blocking(self._fd, True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: the descriptor belongs to the caller."""

    async def aclose(self) -> None:
        """Do nothing: the descriptor belongs to the caller."""

    async def send(self, item: SessionMessage) -> None:
        """Write one message and wait while the client is slow. Raises `BrokenResourceError` if nobody reads."""
        message = item.message
        self._backlog += f"{message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
        self._write()
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self.answered(message.id)
        while len(self._backlog) > _MAX_BACKLOG and not self.broken:
            self._drained.clear()
            await self._drained.wait()
        if self.broken:
            raise anyio.BrokenResourceError

    def answered(self, request_id: Any) -> None:
        """Record that a request was answered."""
        with contextlib.suppress(TypeError):
            self.open.discard(request_id)
        self.settled.set()

    async def wait_for_open(self) -> None:
        """Wait for open requests after the end of the input, while the client still reads."""
        with anyio.move_on_after(GRACE):
            while (self.open or self._backlog) and not self.broken and not _is_broken(self._fd):
                self.settled.clear()
                with anyio.move_on_after(0.05):
                    await self.settled.wait()

    def _write(self) -> None:
        """Write as much as the client takes now; the event loop calls again for the rest."""
        try:
            while self._backlog:
                del self._backlog[: os.write(self._fd, self._backlog)]
        except BlockingIOError:
            self._listen(wanted=True)
        except OSError:
            self.broken = True
            self._backlog.clear()
            self.on_broken()
        if not self._backlog:
            self._listen(wanted=False)
        if len(self._backlog) <= _MAX_BACKLOG:
            self._drained.set()

    def _listen(self, *, wanted: bool) -> None:
        if wanted is self._writes:
            return
        self._writes = wanted
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_writer(self._fd, self._write)
        else:
            loop.remove_writer(self._fd)


class Incoming:
    """The input from the client. An invalid line is answered at once."""

    def __init__(self, fd: int, answers: Outgoing) -> None:
        self._fd = fd
        self._answers = answers
        self._buffer = LineBuffer()
        self._lines: deque[bytes | LineTooLong] = deque()
        self._arrived = asyncio.Event()
        self._listens = False
        self._reads_soon = False
        """Whether a file, which cannot be listened to, is about to be read."""
        self._ended = False
        answers.on_broken = self._arrived.set

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop reading."""
        self._end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message. The end comes after open requests had time to finish."""
        while True:
            while self._lines:
                message = await self._parse(self._lines.popleft())
                if message is not None:
                    return SessionMessage(message)
            if self._ended or self._answers.broken:
                await self._answers.wait_for_open()
                raise StopAsyncIteration
            self._arrived.clear()
            self._listen()
            await self._arrived.wait()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message; the SDK's protocol needs this name."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _parse(self, line: bytes | LineTooLong) -> types.JSONRPCMessage | None:
        message = None if isinstance(line, LineTooLong) else parse_message(line)
        if message is None:
            with contextlib.suppress(anyio.BrokenResourceError):  # noticed when the next line is awaited
                await self._answers.send(SessionMessage(error_response(line)))
        elif isinstance(message, types.JSONRPCRequest):
            self._answers.open.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._answers.answered((message.params or {}).get("requestId"))
        return message

    def _listen(self) -> None:
        if self._listens or self._ended:
            return
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._listens = True
        except PermissionError:  # a regular file is always readable; handle signals in between
            if not self._reads_soon:
                self._reads_soon = True
                asyncio.get_running_loop().call_soon(self._read_file)

    def _read_file(self) -> None:
        self._reads_soon = False
        if not self._ended:
            self._read()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except OSError:
            data = b""
        self._lines.extend(self._buffer.feed(data) if data else self._buffer.end())
        self._arrived.set()
        if not data:
            self._end()
        elif len(self._lines) > _MAX_BUFFERED_LINES:
            self._pause()

    def _pause(self) -> None:
        if self._listens:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._listens = False

    def _end(self) -> None:
        self._ended = True
        self._pause()
        self._arrived.set()


def _is_broken(fd: int) -> bool:
    """Whether the reader of a pipe or socket has closed it."""
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
