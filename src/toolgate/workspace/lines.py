"""Finds lines by number in files of any size, with little memory.

A sparse index stores how many lines start before each block of a file, as far as it has been read. It is stored by the
file's identity, so a later window of an unchanged file is found without reading what precedes it.
"""

from __future__ import annotations

import io
import os
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from toolgate.workspace.threads import Stop

if TYPE_CHECKING:
    from toolgate.workspace.encoding import Encoding

Read = Callable[[int, int], bytes]
"""Reads bytes at an offset of one file, like `os.pread`."""

BLOCK = 1 << 16
"""Bytes between two entries of the index."""
_DENSE = 32
"""Average line length, in bytes, below which counting line ends is faster than removing them."""
_SETTLED_NS = 50_000_000
"""A file that changed more recently than this may change again without a new time stamp."""
_MAX_FILES = 64


class LineIndex:
    """Number of newlines before each block of one unchanging file."""

    __slots__ = ("_counts", "_dense", "_lock", "complete", "encoding", "end")

    def __init__(self, encoding: Encoding, end: int) -> None:
        self.encoding = encoding
        self.end = end
        """The offset after the last byte to be read."""
        self.complete = end == 0
        self._counts = array("Q", [0])
        self._dense = True
        self._lock = threading.Lock()

    @property
    def newlines(self) -> int:
        """Newlines found so far."""
        return self._counts[-1]

    @property
    def position(self) -> int:
        """How far the file has been read."""
        return min((len(self._counts) - 1) * BLOCK, self.end)

    def extend(
        self,
        read: Read,
        stop: Stop,
        *,
        newlines: int | None = None,
        offset: int | None = None,
        deadline: float | None = None,
    ) -> bool:
        """Read until a number of newlines or an offset (None: the end) is reached; False if the deadline was first."""
        while not self.complete and (newlines is None or self._counts[-1] < newlines):
            if offset is not None and self.position >= offset:
                break
            stop.check()
            if deadline is not None and time.monotonic() > deadline:
                return False
            with self._lock:
                position = self.position
                self._add(position, read(min(BLOCK, self.end - position), position))
        return True

    def add(self, position: int, block: memoryview) -> None:
        """Count a block that somebody has read anyway, if it is the next one and whole."""
        with self._lock:
            if position == self.position and len(block) == min(BLOCK, self.end - position) > 0:
                self._add(position, bytes(block))

    def _add(self, position: int, block: bytes) -> None:
        self._counts.append(self._counts[-1] + self._count(block))
        self.complete = position + len(block) >= self.end or not block

    def find(self, read: Read, line: int) -> int | None:
        """Return the offset of a line (from 1); None if the part that was read does not contain it."""
        if line == 1:
            return len(self.encoding.bom)
        wanted = line - 1
        if wanted > self._counts[-1]:
            return None
        block = bisect_left(self._counts, wanted) - 1
        position = block * BLOCK
        data = read(min(BLOCK, self.end - position), position)
        return position + _after_newline(data, wanted - self._counts[block], self.encoding)

    def line_at(self, read: Read, offset: int) -> int | None:
        """Return the line number of a byte offset; None if the file was not read that far."""
        block = offset // BLOCK
        if block >= len(self._counts) - 1 and not self.complete:
            return None
        block = min(block, len(self._counts) - 1)
        data = read(offset - block * BLOCK, block * BLOCK)
        return self._counts[block] + self._count(data) + 1

    def _count(self, block: bytes) -> int:
        if self.encoding.width > 1:
            return block.decode(self.encoding.codec, "replace").count("\n")
        # removing them is twice as fast as counting them, for lines of ordinary length
        count = block.count(b"\n") if self._dense else len(block) - len(block.replace(b"\n", b""))
        self._dense = count * _DENSE > len(block)
        return count


def _after_newline(data: bytes, number: int, encoding: Encoding) -> int:
    """Return the offset after the newline with this number (from 1)."""
    if encoding.width == 1:
        stream = io.BytesIO(data)
        deque(islice(stream, number), maxlen=0)
        return stream.tell()
    newline, position = encoding.encode("\n"), -1
    while number:
        position = data.index(newline, position + 1)
        number -= position % encoding.width == 0
    return position + encoding.width


class LineIndexes:
    """The indexes of the most recently read files, by identity."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], LineIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, info: os.stat_result, encoding: Encoding, end: int) -> LineIndex:
        """Return the index of a file in this state."""
        key = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, end)
        with self._lock:
            index = self._kept.pop(key, None)
            if index is None:
                index = LineIndex(encoding, end)
                if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) < _SETTLED_NS:
                    return index
            self._kept[key] = index
            while len(self._kept) > _MAX_FILES:
                self._kept.popitem(last=False)
            return index
