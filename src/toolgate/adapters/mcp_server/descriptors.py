"""Lines on two file descriptors, without threads. It does not need the SDK, so that a server can answer at once."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Callable
from typing import Self

from toolgate.adapters.line_buffer import LineBuffer, LineTooLong

MAX_LINE_BYTES = 16 << 20
"""Bytes of one message. The arguments of a call are also limited to 1 MiB."""

GRACE = 5.0
"""Seconds that calls have to finish after the client closed stdin but still reads: `printf … | toolgate mcp`."""
_CHUNK = 1 << 16
_MAX_BACKLOG = 1 << 18
"""Maximum bytes that wait for a slow client before senders wait too."""
_MAX_BUFFERED_LINES = 256
"""Maximum number of buffered lines. Beyond it, no more input is read and the client waits."""


class LineWriter:
    """The output to the client. A line is queued whole, so a cancellation never leaves half a line."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._backlog = bytearray()
        self._drained = asyncio.Event()
        self._writes = False
        self.is_broken = False
        """Whether the client has stopped reading."""
        self.on_broken: Callable[[], object] = lambda: None
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

    @property
    def is_empty(self) -> bool:
        """Whether the client has taken everything."""
        return not self._backlog

    def put(self, line: str) -> None:
        """Queue one line and write what the client takes now."""
        self._backlog += f"{line}\n".encode()
        self._write()

    async def drained(self) -> None:
        """Wait while the client is slow."""
        while len(self._backlog) > _MAX_BACKLOG and not self.is_broken:
            self._drained.clear()
            await self._drained.wait()

    def has_reader(self) -> bool:
        """Whether somebody can still read the output."""
        poll = select.poll()
        poll.register(self._fd, 0)
        disconnected = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
        return not (self.is_broken or disconnected)

    def _write(self) -> None:
        """Write as much as the client takes now; the event loop calls again for the rest."""
        try:
            while self._backlog:
                del self._backlog[: os.write(self._fd, self._backlog)]
        except BlockingIOError:
            self._listen(wanted=True)
        except OSError:
            self.is_broken = True
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


class LineReader:
    """The input from the client."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = LineBuffer(MAX_LINE_BYTES)
        self._lines: deque[bytes | LineTooLong] = deque()
        self._arrived = asyncio.Event()
        self._listens = False
        self._reads_soon = False
        """Whether a file, which cannot be listened to, is about to be read."""
        self.has_ended = False

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    async def next(self) -> bytes | LineTooLong | None:
        """Return the next line; None after the last one, and after `end` or `wake`."""
        if not self._lines and not self.has_ended:
            self._arrived.clear()
            self._listen()
            await self._arrived.wait()
        return self._lines.popleft() if self._lines else None

    def put_back(self, line: bytes | LineTooLong) -> None:
        """Return a line to the start of the input."""
        self._lines.appendleft(line)

    def end(self) -> None:
        """Stop reading."""
        self.has_ended = True
        self._pause()
        self._arrived.set()

    def wake(self) -> None:
        """Let `next` return, because nobody reads the output any more."""
        self._arrived.set()

    def _listen(self) -> None:
        if self._listens or self.has_ended:
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
        if not self.has_ended:
            self._read()
        if not self._lines:
            self._listen()  # half a line so far: nobody is woken who would read on

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except OSError:
            data = b""
        self._lines.extend(self._buffer.feed(data) if data else self._buffer.finish())
        if self._lines:
            self._arrived.set()
        if not data:
            self.end()
        elif len(self._lines) > _MAX_BUFFERED_LINES:
            self._pause()

    def _pause(self) -> None:
        if self._listens:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._listens = False
