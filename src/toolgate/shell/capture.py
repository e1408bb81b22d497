"""Captures what a command prints: exact counts, both ends in memory, and everything in a file up to a limit."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Callable

from toolgate.log import logger
from toolgate.shell.result import StreamInfo
from toolgate.text.terminal import decode_output

_SHOWN_AT_ONCE = 16 * 1024
"""Most characters of one piece that the listener gets. The start is dropped."""

_SAMPLE = 4096

Opener = Callable[[], tuple[str, int]]
"""Creates the file for the whole output; returns its path and descriptor."""
Listener = Callable[[str], None]
"""Gets the text as it comes."""


class Capture:
    """Captures one stream. Memory stays below three times `end_bytes`."""

    def __init__(self, *, end_bytes: int, max_stored: int, opener: Opener, listener: Listener | None = None) -> None:
        self.on_bytes: Callable[[bytes], None] | None = None
        """Gets the bytes as they come. It MUST NOT raise."""
        self._end_bytes = end_bytes
        self._max_stored = max_stored
        self._opener = opener
        self._listener = listener
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._start: list[bytes] = []
        """Everything, until it is more than twice `end_bytes`."""
        self._head = b""
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._cut = False
        self._path: str | None = None
        self._fd = -1
        self._stored = 0
        self.bytes = 0
        self._newlines = 0
        self._last = b""

    def feed(self, chunk: bytes) -> None:
        """Add printed bytes, at least one."""
        self.bytes += len(chunk)
        self._newlines += _newlines(chunk)
        self._last = chunk[-1:]
        if not self._cut:
            self._start.append(chunk)
            if self.bytes > 2 * self._end_bytes:
                self._split()
        else:
            self._keep_tail(chunk)
            self._write(chunk)
        if self._listener is not None:
            self._show(chunk)
        if self.on_bytes is not None:
            self.on_bytes(chunk)

    def _split(self) -> None:
        self._cut = True
        try:
            self._path, self._fd = self._opener()
        except OSError as error:  # no space or descriptor for a file: the ends and the counts stay exact
            logger("shell").warning("output_not_kept", error=error.strerror)
        before = 0
        for chunk in self._start:
            self._write(chunk)
            if before < self._end_bytes:
                self._head += chunk[: self._end_bytes - before]
            if before + len(chunk) > self._end_bytes:
                self._keep_tail(chunk[max(self._end_bytes - before, 0) :])
            before += len(chunk)
        self._start.clear()

    def _keep_tail(self, chunk: bytes) -> None:
        self._tail.append(chunk[-self._end_bytes :])
        self._tail_bytes += len(self._tail[-1])
        while self._tail_bytes - len(self._tail[0]) >= self._end_bytes:
            self._tail_bytes -= len(self._tail.popleft())

    def _write(self, chunk: bytes) -> None:
        room = self._max_stored - self._stored
        if self._fd < 0 or room <= 0:
            return
        rest = memoryview(chunk)[:room]
        try:
            while rest:
                written = os.write(self._fd, rest)
                self._stored += written
                rest = rest[written:]
        except OSError as error:  # the disk is full: the ends and the counts stay exact
            logger("shell").warning("output_not_kept", error=error.strerror)
            self._close()

    def _show(self, chunk: bytes) -> None:
        text = self._decoder.decode(chunk)
        try:
            if text and self._listener is not None:
                self._listener(text[-_SHOWN_AT_ONCE:])
        except Exception as error:  # noqa: BLE001 - a listener's failure is not the command's
            logger("shell").warning("listener_failed", error=type(error).__name__)
            self._listener = None

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def finish(self) -> None:
        """End of the stream."""
        self._close()

    @property
    def lines(self) -> int:
        """Number of newlines, plus one for a last line without."""
        return self._newlines + (1 if self.bytes and self._last != b"\n" else 0)

    @property
    def info(self) -> StreamInfo:
        """Return the counts."""
        return StreamInfo(
            bytes=self.bytes,
            lines=self.lines,
            truncated=self._cut,
            output_path=self._path,
            stored_bytes=self._stored,
        )

    def text(self) -> str:
        """Return the output as a person would see it; only its head and tail if it is long."""
        if not self._cut:
            return decode_output(b"".join(self._start))
        head = _without_half_line(self._head)
        tail = b"".join(self._tail)[-self._end_bytes :]
        newline = tail.find(b"\n", 0, len(tail) // 2)
        tail = tail[newline + 1 :] if newline >= 0 else tail.lstrip(bytes(range(0x80, 0xC0)))
        gone = self.bytes - len(head) - len(tail)
        lines = self.lines - head.count(b"\n") - tail.count(b"\n") - (0 if tail.endswith(b"\n") else 1)
        mark = f"[... {gone:,} bytes ({max(lines, 0):,} lines) left out ...]\n"
        start = decode_output(head)
        return start + ("" if start.endswith("\n") else "\n") + mark + decode_output(tail)


def _newlines(chunk: bytes) -> int:
    """Count the newlines in a chunk. For long lines, `replace` is faster than `count`."""
    if chunk.count(b"\n", 0, _SAMPLE) * 25 > min(len(chunk), _SAMPLE):
        return chunk.count(b"\n")
    return len(chunk) - len(chunk.replace(b"\n", b""))


def _without_half_line(head: bytes) -> bytes:
    newline = head.rfind(b"\n", len(head) // 2)
    if newline >= 0:
        return head[: newline + 1]
    for back in range(1, 4):  # no line ends there: at least do not split a character
        byte = head[-back]
        if byte >= 0xC0:
            return head[:-back]
        if byte < 0x80:
            break
    return head
