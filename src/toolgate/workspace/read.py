"""Reads a window of lines from a text file of any size."""

import operator
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from toolgate.workspace.collect import Blocks, Collector
from toolgate.workspace.encoding import (
    SAMPLE,
    UTF_8,
    Encoding,
    binary,
    detect,
    guess_legacy,
    not_text,
    surrounding_lines,
)
from toolgate.workspace.file_state import HASHED, digest_file, identity
from toolgate.workspace.lines import LineIndex, Read
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.threads import Stop

PATIENCE = 5.0
"""Seconds that one call searches for its first line. The next call continues where this one ended."""
LITTLE_LINES = 2000
"""Most lines of a first page that is read without a thread."""
_LITTLE = 1 << 18
"""Bytes of a file that are read at once."""
_COUNT_TO_END = 1 << 20
"""Bytes after a window that are read only to count lines."""


@dataclass(slots=True, kw_only=True)
class Window:
    """Some lines of a file, and what is known about the others."""

    path: str
    """Relative to the root."""
    stat: os.stat_result
    start_line: int
    lines: list[str] = field(default_factory=list)
    """As they are shown: without line ends, and clipped if too long."""
    clipped: list[int] = field(default_factory=list)
    """Numbers of the lines that were clipped."""
    more: bool = False
    """Whether more lines follow."""
    total_lines: int | None = None
    searched: int | None = None
    """Set if the search for the first line was given up: how many lines precede the place where it ended."""
    hole: int | None = None
    """Set if the window ends at a hole in the file: its offset."""
    encoding: str = "utf-8"
    confidence: float = 1.0
    """How sure the encoding is; below 1 it is a guess."""
    crlf: bool = False
    digest: str | None = None
    """Hash of the whole content, for small files that did not change while they were read."""

    def numbered(self) -> str:
        """Return the lines with their numbers: six columns, a tab, the line."""
        return "\n".join(map(operator.add, _numbers(self.start_line, len(self.lines)), self.lines))


@cache
def _below_1000(form: str) -> list[str]:
    return [format(number, form) + "\t" for number in range(1000)]


def _numbers(start: int, count: int) -> Iterator[str]:
    """Return line numbers with their tab, from a table of endings, because this is most of the work of a page."""
    parts: list[Iterable[str]] = []
    for thousand in range(start // 1000, (start + count - 1) // 1000 + 1):
        first, last = max(0, start - thousand * 1000), start + count - thousand * 1000
        ends = _below_1000("03d" if thousand else "6d")[first:last]
        parts.append(map(f"{thousand:3d}".__add__, ends) if thousand else ends)
    return chain.from_iterable(parts)


def read_window(stop: Stop, workspace: Workspace, path: str, start_line: int, limit: int, budget: int) -> Window:
    """Read from `start_line` on, at most `limit` lines and about `budget` bytes."""
    with workspace.open_file(path) as opened:
        return _window(stop, workspace, opened, opened.read, path, start_line, limit, budget)


def read_first_page(workspace: Workspace, path: str, limit: int, budget: int) -> Window | None:
    """Return the first lines if they are already in memory and little work; otherwise None."""
    if limit > LITTLE_LINES:
        return None
    try:
        with workspace.open_file(path, wait=False) as opened:
            size = opened.stat.st_size
            if _LITTLE < size <= _COUNT_TO_END + HASHED:  # its lines would be counted, or its content hashed
                return None
            return _window(Stop(), workspace, opened, _AtOnce(opened), path, 1, limit, budget)
    except BlockingIOError:
        return None


class _AtOnce:
    """Reads only what is in memory, up to a limit: a line may be endless."""

    def __init__(self, opened: OpenedFile) -> None:
        self._opened = opened
        self._left = 4 * _LITTLE

    def __call__(self, length: int, offset: int) -> bytes:
        self._left -= length
        if self._left < 0:
            raise BlockingIOError
        return self._opened.read_cached(length, offset)


def _window(
    stop: Stop,
    workspace: Workspace,
    opened: OpenedFile,
    read: Read,
    path: str,
    start_line: int,
    limit: int,
    budget: int,
) -> Window:
    window = Window(path=opened.path, stat=opened.stat, start_line=start_line)
    end = _end_of_data(opened)
    if end < opened.stat.st_size:
        window.hole = end
    sample = read(min(SAMPLE, end), 0)
    if window.hole is not None:
        sample = sample.rstrip(b"\0")
    encoding = detect(sample, path, whole=len(sample) == opened.stat.st_size)
    window.encoding, window.confidence = encoding.name, encoding.confidence
    index = workspace.line_indexes.of(opened.stat, encoding, end)
    newlines = start_line - 1 if start_line > 0 else None
    if not index.extend(read, stop, newlines=newlines, deadline=time.monotonic() + PATIENCE):
        window.searched = index.newlines
        return window
    if start_line < 0:
        start_line = window.start_line = max(1, _total(read, index) + start_line + 1)
    offset = index.find(read, start_line)
    if offset is not None:
        _fill(stop, window, read, (offset, end), encoding, limit, budget, path)
    _count_all(stop, window, read, index, offset)
    digest = digest_file(opened.fd, opened.stat)
    if identity(os.fstat(opened.fd)) == identity(opened.stat):
        window.digest = digest
    return window


def _end_of_data(opened: OpenedFile) -> int:
    """Return where the written data ends. A hole is not read, however large it is."""
    size = opened.stat.st_size
    if opened.stat.st_blocks * 512 >= size:
        return size
    try:
        return os.lseek(opened.fd, 0, os.SEEK_HOLE)
    except OSError:  # the file system does not report it
        return size


def _fill(
    stop: Stop,
    window: Window,
    read: Read,
    span: tuple[int, int],
    encoding: Encoding,
    limit: int,
    budget: int,
    path: str,
) -> None:
    """Collect the lines. Text that turns out not to be UTF-8 is read in the encoding that it looks like."""
    try:
        _collect(stop, window, Blocks(read, *span, encoding), limit, budget, path)
        return
    except UnicodeDecodeError as error:
        if encoding is not UTF_8:
            raise not_text(path, f"damaged {encoding.name}") from None
        other = guess_legacy(surrounding_lines(error.object, error.start), path)
    window.encoding, window.confidence = other.name, other.confidence
    try:
        _collect(stop, window, Blocks(read, *span, other), limit, budget, path)
    except UnicodeDecodeError:
        raise not_text(path, f"damaged {other.name}") from None


def _collect(stop: Stop, window: Window, blocks: Blocks, limit: int, budget: int, path: str) -> None:
    collector = Collector(limit, budget)
    deadline = time.monotonic() + PATIENCE
    nul = False
    for text in blocks:
        stop.check()
        nul = nul or "\0" in text
        if collector.feed(text) or time.monotonic() > deadline:
            break
    else:
        collector.finish()
    window.lines, window.crlf = collector.lines, collector.crlf
    window.clipped = [window.start_line + position for position in collector.clipped]
    window.more = collector.more or blocks.position < blocks.end
    if window.hole is not None and not window.more and window.lines:
        window.lines[-1] = window.lines[-1].rstrip("\0")
    if nul and any("\0" in line for line in window.lines):
        raise binary(path)


def _count_all(stop: Stop, window: Window, read: Read, index: LineIndex, offset: int | None) -> None:
    """Fill in the number of lines if it is known or cheap to count."""
    if window.hole is not None:
        return
    if offset is not None and not window.more and window.lines:
        window.total_lines = window.start_line - 1 + len(window.lines)
        return
    if not index.complete and index.end - index.position > _COUNT_TO_END:
        return
    index.extend(read, stop)
    window.total_lines = _total(read, index)


def _total(read: Read, index: LineIndex) -> int:
    """Return the number of lines of a file that was read to its end."""
    unit = index.encoding.width
    last = read(unit, index.end - unit) if index.end >= unit else b""
    empty = index.end <= len(index.encoding.bom)
    return index.newlines + (not empty and last != index.encoding.encode("\n"))
