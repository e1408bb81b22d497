"""Collecting the lines of one window from blocks of a file: bounded by lines, bytes and the length of a line."""

import codecs
import io
import os
from collections.abc import Iterator
from itertools import accumulate, islice

from toolgate.workspace.encoding import Encoding
from toolgate.workspace.lines import BLOCK

LONGEST_LINE = 2000
"""Characters of a line that are shown."""
_KEPT = 4 * (LONGEST_LINE + 1)
"""Bytes that certainly hold one character more than is shown."""
_NUMBERING = 7
"""Bytes that a line's number takes."""


class Blocks:
    """The rest of a file from an offset, as blocks of UTF-8 whatever its encoding is."""

    def __init__(self, fd: int, offset: int, end: int, encoding: Encoding) -> None:
        self._fd = fd
        self._codec = encoding.codec if encoding.width > 1 else None
        self.position = offset
        self.end = end

    def __iter__(self) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(self._codec)() if self._codec else None
        while self.position < self.end:
            block = os.pread(self._fd, min(BLOCK, self.end - self.position), self.position)
            if not block:
                self.position = self.end  # the file became shorter meanwhile
                return
            self.position += len(block)
            yield decoder.decode(block, self.position >= self.end).encode() if decoder else block


class Collector:
    """Takes blocks until the window is full."""

    def __init__(self, limit: int, budget: int) -> None:
        self.lines: list[bytes] = []
        """Raw lines with their newline; over-long ones are cut behind the first character that is not shown."""
        self.lengths: dict[int, int] = {}
        """Whole length in bytes of the lines that were cut, by their position in `lines`."""
        self.more = False
        """Something follows in the blocks that were fed."""
        self._limit = limit
        self._budget = budget
        self._carry = b""
        self._dropped = 0

    def feed(self, block: bytes) -> bool:
        """Take what fits; True when the window is full."""
        stream = io.BytesIO(block)
        lines = list(islice(stream, self._limit - len(self.lines)))
        if lines and (self._carry or self._dropped):
            lines[0] = self._carry + lines[0]
            self._carry = b""
        if lines and not lines[-1].endswith(b"\n"):
            self._hold(lines.pop(), first=not lines)
        if lines:
            self._take(lines)
        full = len(self.lines) >= self._limit or self.more
        self.more = self.more or (full and stream.tell() < len(block))
        return full

    def finish(self) -> None:
        """The file is over: what is left is its last line, which has no newline."""
        if self._carry or self._dropped:
            last, self._carry = self._carry, b""
            self._take([last])

    def _hold(self, tail: bytes, *, first: bool) -> None:
        """Keep an unfinished line, or as much of it as will be shown."""
        dropped = self._dropped if first else 0
        self._carry = tail[:_KEPT]
        self._dropped = dropped + len(tail) - len(self._carry)

    def _take(self, lines: list[bytes]) -> None:
        base = len(self.lines)
        if self._dropped and base < self._limit:
            self._cut(lines, 0, base)
            self._dropped = 0
        if max(map(len, lines)) > _KEPT + 1:
            for position, line in enumerate(lines):
                if len(line) > _KEPT + 1:
                    self._cut(lines, position, base)
        sizes = list(accumulate(map(len, lines)))
        if sizes[-1] + _NUMBERING * len(lines) > self._budget:
            fits = sum(size + _NUMBERING * number <= self._budget for number, size in enumerate(sizes, 1))
            fits = max(fits, not self.lines)
            self.more = fits < len(lines)
            del lines[fits:]
            self._budget = 0
        else:
            self._budget -= sizes[-1] + _NUMBERING * len(lines)
        self.lines += lines

    def _cut(self, lines: list[bytes], position: int, base: int) -> None:
        line = lines[position]
        dropped = self._dropped if position == 0 else 0
        self.lengths[base + position] = len(line) + dropped
        kept = codecs.getincrementaldecoder("utf-8")().decode(line[:_KEPT]).rstrip("\r\n")
        lines[position] = kept[: LONGEST_LINE + 1].encode() + b"\n"
