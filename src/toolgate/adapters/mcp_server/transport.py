"""Two descriptors as the streams that the SDK works with."""

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

from toolgate.adapters.mcp_server.lines import Lines, LineTooLong, parsed, refusal

GRACE = 1.0
"""Seconds that calls get to end after the client has closed our stdin but still reads: `printf … | toolgate mcp`."""
_CHUNK = 1 << 16
_HIGH = 1 << 18
"""Bytes that wait for a slow client before whoever sends has to wait, too."""
_ENOUGH = 256
"""Lines that are held before no more are read: the client then waits in its pipe."""


class Outgoing:
    """What the client is sent. A message is queued whole, so that nobody who is cancelled leaves half a line."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._backlog = bytearray()
        self._drained = asyncio.Event()
        self._writes = False
        self.open: set[Any] = set()
        """Requests of the client that are not answered yet."""
        self.settled = asyncio.Event()
        """Set when one more is answered."""
        self.broken = False
        """Nobody reads any more."""
        self.on_broken: Callable[[], object] = self.settled.set
        mode = os.fstat(fd).st_mode
        self._waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    def __enter__(self) -> Self:
        if self._waits:
            os.set_blocking(self._fd, False)
        return self

    def __exit__(self, *_: object) -> None:
        self._listen(wanted=False)
        if self._waits:
            os.set_blocking(self._fd, True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """The descriptor is not closed here: it belongs to whoever opened it."""

    async def aclose(self) -> None:
        """Nothing to let go of."""

    async def send(self, item: SessionMessage) -> None:
        """Write one message, and wait while the client is slow; `BrokenResourceError` if nobody reads."""
        message = item.message
        self._backlog += f"{message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
        self._write()
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self.answered(message.id)
        while len(self._backlog) > _HIGH and not self.broken:
            self._drained.clear()
            await self._drained.wait()
        if self.broken:
            raise anyio.BrokenResourceError

    def answered(self, request_id: Any) -> None:
        """Nobody waits for this request any more."""
        with contextlib.suppress(TypeError):
            self.open.discard(request_id)
        self.settled.set()

    async def let_finish(self) -> None:
        """No more requests come; those that are open may end, if somebody still reads."""
        with anyio.move_on_after(GRACE):
            while (self.open or self._backlog) and not self.broken and not _is_broken(self._fd):
                self.settled.clear()
                with anyio.move_on_after(0.05):
                    await self.settled.wait()

    def _write(self) -> None:
        """As much as the client takes now; the loop comes back for the rest."""
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
        if len(self._backlog) <= _HIGH:
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
    """What the client sends; a line that is no message is answered at once."""

    def __init__(self, fd: int, answers: Outgoing) -> None:
        self._fd = fd
        self._answers = answers
        self._cutter = Lines()
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
        """Read no more."""
        self._end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message; the end comes when the client has gone and its requests have had their time."""
        while True:
            while self._lines:
                message = await self._taken(self._lines.popleft())
                if message is not None:
                    return SessionMessage(message)
            if self._ended or self._answers.broken:
                await self._answers.let_finish()
                raise StopAsyncIteration
            self._arrived.clear()
            self._listen()
            await self._arrived.wait()

    async def receive(self) -> SessionMessage | Exception:
        """The same, as the SDK's protocol names it."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _taken(self, line: bytes | LineTooLong) -> types.JSONRPCMessage | None:
        message = None if isinstance(line, LineTooLong) else parsed(line)
        if message is None:
            with contextlib.suppress(anyio.BrokenResourceError):  # noticed where the next line is waited for
                await self._answers.send(SessionMessage(refusal(line)))
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
        except PermissionError:  # a file: there is nothing to wait for, but signals have their turn
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
        self._lines.extend(self._cutter.feed(data) if data else self._cutter.end())
        self._arrived.set()
        if not data:
            self._end()
        elif len(self._lines) > _ENOUGH:
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
    """Whether the reader of a pipe or socket has gone away."""
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
