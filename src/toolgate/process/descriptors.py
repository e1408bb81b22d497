"""The pipes and files through which the runtime talks to one process. Each is closed once, and writing never blocks."""

from __future__ import annotations

import asyncio
import os
import resource


def max_open_files() -> int:
    """Return how many descriptors this process may have open now. A process that it starts gets the same limit."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class Descriptors:
    """The open descriptors of one process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open: set[int] = set()
        self._writing: set[int] = set()

    def __contains__(self, fd: int) -> bool:
        return fd in self._open

    def keep(self, fd: int) -> int:
        """Add a descriptor, to be closed with the others."""
        self._open.add(fd)
        return fd

    def pipe(self) -> tuple[int, int]:
        """Make a pipe; return its read end and its write end."""
        reading, writing = os.pipe()
        return self.keep(reading), self.keep(writing)

    def drop(self, fd: int) -> None:
        """Close one descriptor. Closing it twice does nothing."""
        if fd in self._open:
            self._open.remove(fd)
            os.close(fd)

    def send(self, fd: int, text: bytes) -> None:
        """Write a text and close the descriptor. What does not fit into the pipe is written as the other end reads."""
        if fd in self._writing:
            self._loop.remove_writer(fd)
            self._writing.remove(fd)
        try:
            text = text[os.write(fd, text) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:  # the reader has ended; the caller that waits for it notices
            text = b""
        if text:
            self._writing.add(fd)
            self._loop.add_writer(fd, self.send, fd, text)
        else:
            self.drop(fd)

    def close(self) -> None:
        """Close all descriptors. Text that is not written yet is dropped."""
        for fd in self._writing:
            self._loop.remove_writer(fd)
        self._writing.clear()
        for fd in tuple(self._open):
            self.drop(fd)
