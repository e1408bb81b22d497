"""The named pipe through which a shell passes on its state. It is read while the command runs, up to a limit."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from toolgate.system import fcntl

MAX_BYTES = 4 << 20
"""A larger state is dropped, and the last known one stays."""
_CHUNK = 1 << 16
"""Capacity of a pipe in bytes."""
_MAX_CHUNKS = MAX_BYTES // _CHUNK + 1
"""Most chunks that are read at once. A pipe has more only if somebody enlarged it, or writes without end."""
_MODE = 0o600
_GET_PIPE_SIZE = 1032  # F_GETPIPE_SZ, which the fcntl module of 3.11 has only on some builds
_PAUSE = 0.001
"""Seconds between two reads. A shell writes its state in many small pieces, and a command may write without end."""


class StatePipe:
    """The host's end of the pipe. It keeps at most one byte more than a state may have, and drops the rest.

    It is opened for reading and writing. So no shell waits for a reader, and the end of one writer does not end the
    pipe.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        os.mkfifo(path, _MODE)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except BaseException:
            os.unlink(path)
            raise
        self._first_size = self._size()
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._text = bytearray()
        self._loop.add_reader(self._fd, self._wait)

    def _wait(self) -> None:
        """Something was written: read it after a pause, with what follows."""
        self._loop.remove_reader(self._fd)
        self._pause = self._loop.call_later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        is_large = self._take() == _CHUNK and not self._is_too_large
        self._loop.add_reader(self._fd, self._go_on if is_large else self._wait)

    def _take(self) -> int:
        """Read what the pipe holds; return how many bytes."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return 0
        self._text += chunk[: MAX_BYTES + 1 - len(self._text)]
        return len(chunk)

    @property
    def _is_too_large(self) -> bool:
        return len(self._text) > MAX_BYTES

    def text(self) -> bytes | None:
        """Return what the shell wrote; None if it was too much. Call it after the shell has ended."""
        return self._rest()[0]

    def take(self) -> tuple[bytes | None, bool]:
        """Return what the shell wrote, as `text` does, and forget it: the next shell writes into the same pipe.

        Also return whether the pipe can be used again. Use another one if this one is not empty, because part of this
        text would be in the next one, or if the command has changed its size, because the next shell would be slower.
        """
        text, is_empty = self._rest()
        self._text.clear()
        os.fchmod(self._fd, _MODE)  # a command may have changed it, and the next shell could not write its state
        return text, is_empty and self._size() == self._first_size

    def _size(self) -> int:
        return fcntl.fcntl(self._fd, _GET_PIPE_SIZE)

    def _rest(self) -> tuple[bytes | None, bool]:
        """Read what is left, and return the whole text and whether the pipe is empty now."""
        is_empty = any(not self._take() for _ in range(_MAX_CHUNKS))
        return (bytes(self._text) if is_empty and not self._is_too_large else None), is_empty

    def close(self) -> None:
        """Close and remove the pipe. Call it once."""
        self._loop.remove_reader(self._fd)
        if self._pause is not None:
            self._pause.cancel()
        os.close(self._fd)
        with suppress(FileNotFoundError):  # without a sandbox, the command may have removed it
            os.unlink(self.path)
