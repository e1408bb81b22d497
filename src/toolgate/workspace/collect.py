"""Collects the lines of one window of a file, limited by lines, bytes and the length of a line."""

import codecs
from collections.abc import Iterator
from itertools import accumulate

from toolgate.workspace.encoding import Encoding
from toolgate.workspace.lines import BLOCK, Read

MAX_LINE = 2000
"""Longest line that is shown, in characters."""
_NUMBERING = 8
"""Bytes that a line's number and end take."""


class Blocks:
    """Yield the rest of a file from an offset as text, block by block."""

    def __init__(self, read: Read, offset: int, end: int, encoding: Encoding) -> None:
        self._read = read
        self._codec = encoding.codec
        self.position = offset
        self.end = end

    def __iter__(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder(self._codec)()
        while self.position < self.end:
            block = self._read(min(BLOCK, self.end - self.position), self.position)
            if not block:
                self.position = self.end  # the file has become shorter
                return
            self.position += len(block)
            yield decoder.decode(block, self.position >= self.end)


class Collector:
    """Collects text until the window is full."""

    def __init__(self, limit: int, budget: int) -> None:
        self.lines: list[str] = []
        """Without line ends. Lines that are too long are clipped."""
        self.clipped: list[int] = []
        """Positions of the lines that were clipped."""
        self.crlf = False
        self.more = False
        """Whether there is more text after the window."""
        self._limit = limit
        self._budget = budget
        self._carry = ""
        self._dropped = 0

    def feed(self, text: str) -> bool:
        """Add text; True if the window is full."""
        lines = text.split("\n", self._limit - len(self.lines))
        tail = lines.pop()
        if lines:
            lines[0] = self._carry + lines[0]
            self._take(lines, strip="\r" in text or lines[0].endswith("\r"), ascii_only=text.isascii())
            self._carry = ""
        if self.more or len(self.lines) >= self._limit:
            self.more = self.more or bool(tail)
            return True
        held = self._carry + tail
        self._carry = held[: MAX_LINE + 1]
        self._dropped += len(held) - len(self._carry)
        return False

    def finish(self) -> None:
        """End of the text: the rest is the last line, which has no line end."""
        if self._carry:
            self._take([self._carry], strip=False, ascii_only=False)

    def _take(self, lines: list[str], *, strip: bool, ascii_only: bool) -> None:
        base = len(self.lines)
        if strip:
            self.crlf = self.crlf or any(line.endswith("\r") for line in lines)
            lines = [line[:-1] if line.endswith("\r") else line for line in lines]
        if max(map(len, lines)) > MAX_LINE or self._dropped:
            for position, line in enumerate(lines):
                whole = len(line) + (self._dropped if position == 0 else 0)
                if whole > MAX_LINE:
                    lines[position] = f"{line[:MAX_LINE]}… [clipped: {MAX_LINE} of {whole} characters]"
                    self.clipped.append(base + position)
            self._dropped = 0
        fits = self._fitting(lines, exact=ascii_only)
        self.more = fits < len(lines)
        self.lines += lines[:fits] if self.more else lines
        if self.more and self.clipped:
            self.clipped = [position for position in self.clipped if position < len(self.lines)]

    def _fitting(self, lines: list[str], *, exact: bool) -> int:
        """How many lines fit into the budget; at least one, so that reading makes progress."""
        size = sum(map(len, lines)) + _NUMBERING * len(lines)
        if size * (1 if exact else 4) > self._budget:  # only then are the lines measured one by one
            sizes = list(accumulate(len(line.encode()) + _NUMBERING for line in lines))
            if sizes[-1] > self._budget:
                return max(sum(size <= self._budget for size in sizes), not self.lines)
            size = sizes[-1]
        self._budget -= size
        return len(lines)
