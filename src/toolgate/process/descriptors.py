"""The descriptors that a process is talked to with: each is closed once, and writing to one never waits."""

from __future__ import annotations

import asyncio
import os


class Descriptors:
    """The open descriptors of one process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open: set[int] = set()
        self._writing: set[int] = set()

    def __contains__(self, fd: int) -> bool:
        return fd in self._open

    def keep(self, fd: int) -> int:
        """Close it when the others are."""
        self._open.add(fd)
        return fd

    def pipe(self) -> tuple[int, int]:
        """A new pipe: where it is read, and where it is written."""
        reading, writing = os.pipe()
        return self.keep(reading), self.keep(writing)

    def drop(self, fd: int) -> None:
        """Close one; nothing if it is closed already."""
        if fd in self._open:
            self._open.remove(fd)
            os.close(fd)

    def send(self, fd: int, text: bytes) -> None:
        """Write a text and close; what does not fit into the pipe follows as the other end reads."""
        if fd in self._writing:
            self._loop.remove_writer(fd)
            self._writing.remove(fd)
        try:
            text = text[os.write(fd, text) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # it ended; whoever waits for it will see
            text = b""
        if text:
            self._writing.add(fd)
            self._loop.add_writer(fd, self.send, fd, text)
        else:
            self.drop(fd)

    def close(self) -> None:
        """Close all of them; what was not written is not."""
        for fd in self._writing:
            self._loop.remove_writer(fd)
        self._writing.clear()
        for fd in tuple(self._open):
            self.drop(fd)
