"""Reading a window of lines from a text file of any size."""

import os
import time
from dataclasses import dataclass, field
from itertools import repeat

from toolgate.workspace.collect import Blocks, Collector
from toolgate.workspace.encoding import SAMPLE, Encoding, binary, detect, guess, not_text
from toolgate.workspace.known import digest_file
from toolgate.workspace.lines import LineIndex
from toolgate.workspace.root import OpenedFile, Workspace, identity
from toolgate.workspace.threads import Stop

PATIENCE = 5.0
"""Seconds that one call searches for its first line; the next call goes on where this one ended."""
_COUNT_TO_END = 1 << 20
"""Bytes behind a window that are read only to know how many lines there are."""


@dataclass(slots=True, kw_only=True)
class Window:
    """Some lines of a file, and what is known about the rest."""

    path: str
    """Relative to the root."""
    stat: os.stat_result
    start_line: int
    lines: list[str] = field(default_factory=list)
    """As they are shown: without line ends, over-long ones clipped."""
    clipped: list[int] = field(default_factory=list)
    """Numbers of the lines that were clipped."""
    more: bool = False
    """Lines follow."""
    total_lines: int | None = None
    searched: int | None = None
    """Set when the search for the first line was given up: how many lines are before the place where it ended."""
    hole: int | None = None
    """Set when the window ends at a hole in the file: its offset."""
    encoding: str = "utf-8"
    crlf: bool = False
    digest: str | None = None
    """Hash of the whole content, of small files that did not change while they were read."""

    def numbered(self) -> str:
        """The lines with their numbers: six columns, a tab, the line."""
        numbers = map(str, range(self.start_line, self.start_line + len(self.lines)))
        return "\n".join(map("\t".join, zip(map(str.rjust, numbers, repeat(6)), self.lines, strict=False)))


def read_window(stop: Stop, workspace: Workspace, path: str, start_line: int, limit: int, budget: int) -> Window:
    """Lines `start_line` and following, at most `limit` of them and about `budget` bytes."""
    with workspace.open_file(path) as opened:
        window = Window(path=opened.path, stat=opened.stat, start_line=start_line)
        end = _end_of_data(opened)
        if end < opened.stat.st_size:
            window.hole = end
        sample = os.pread(opened.fd, min(SAMPLE, end), 0)
        if window.hole is not None:
            sample = sample.rstrip(b"\0")
        encoding = detect(sample, path, whole=len(sample) == opened.stat.st_size)
        window.encoding = encoding.name
        index = workspace.line_indexes.of(opened.stat, encoding, end)
        if not index.extend(opened.fd, stop, newlines=start_line - 1, deadline=time.monotonic() + PATIENCE):
            window.searched = index.newlines
            return window
        offset = index.find(opened.fd, start_line)
        if offset is not None:
            _fill(stop, window, opened, index, offset, limit, budget, path)
        _count_all(stop, window, opened.fd, index, offset)
        digest = digest_file(opened.fd, opened.stat)
        if identity(os.fstat(opened.fd)) == identity(opened.stat):
            window.digest = digest
        return window


def _end_of_data(opened: OpenedFile) -> int:
    """Where the data ends that was ever written: a hole is not read, however large it is."""
    size = opened.stat.st_size
    if opened.stat.st_blocks * 512 >= size:
        return size
    try:
        return os.lseek(opened.fd, 0, os.SEEK_HOLE)
    except OSError:  # the file system does not tell
        return size


def _fill(
    stop: Stop, window: Window, opened: OpenedFile, index: LineIndex, offset: int, limit: int, budget: int, path: str
) -> None:
    blocks = Blocks(opened.fd, offset, index.end, index.encoding)
    collector = Collector(limit, budget)
    deadline = time.monotonic() + PATIENCE
    nul = False
    try:
        for text in blocks:
            stop.check()
            nul = nul or "\0" in text
            if collector.feed(text) or time.monotonic() > deadline:
                break
        else:
            collector.finish()
    except UnicodeDecodeError as error:
        raise not_text(path, _guess(error.object, index.encoding)) from None
    window.lines, window.crlf = collector.lines, collector.crlf
    window.clipped = [window.start_line + position for position in collector.clipped]
    window.more = collector.more or blocks.position < blocks.end
    if window.hole is not None and not window.more and window.lines:
        window.lines[-1] = window.lines[-1].rstrip("\0")
    if nul and any("\0" in line for line in window.lines):
        raise binary(path)


def _guess(around: bytes, encoding: Encoding) -> str:
    return f"damaged {encoding.name}" if encoding.width > 1 else guess(around)


def _count_all(stop: Stop, window: Window, fd: int, index: LineIndex, offset: int | None) -> None:
    """Fill in the number of lines where it is known or cheap to know."""
    if window.hole is not None:
        return
    if offset is not None and not window.more and window.lines:
        window.total_lines = window.start_line - 1 + len(window.lines)
        return
    if not index.complete and index.end - index.position > _COUNT_TO_END:
        return
    index.extend(fd, stop)
    unit = index.encoding.width
    last = os.pread(fd, unit, index.end - unit) if index.end >= unit else b""
    empty = index.end <= len(index.encoding.bom)
    window.total_lines = index.newlines + (not empty and last != index.encoding.encode("\n"))
