"""The intervals in which commands could write. Changes outside them were made by another program."""

from __future__ import annotations

import time
from bisect import bisect_right

_COARSE = 5  # CLOCK_REALTIME_COARSE, which the time module does not name
"""The clock of the kernel's time stamps: no later write gets an earlier time stamp."""
_MAX_INTERVALS = 4096


class WriteIntervals:
    """Closed intervals of past commands, and the start times of running ones."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._running: dict[object, int] = {}

    def begin(self, key: object) -> None:
        """Record that a command starts."""
        self._running[key] = time.clock_gettime_ns(_COARSE)

    def end(self, key: object) -> None:
        """Record that a command and all its processes have ended."""
        start = self._running.pop(key, None)
        if start is None:
            return
        while self._ends and self._ends[-1] >= start:
            start = min(start, self._starts.pop())
            self._ends.pop()
        self._starts.append(start)
        self._ends.append(time.time_ns())
        if len(self._starts) > _MAX_INTERVALS:  # the oldest two become one, including the pause between them
            self._starts[1:3] = []
            self._ends[0:2] = []

    def runs(self, key: object) -> bool:
        """Whether this command has started and not ended."""
        return key in self._running

    @property
    def is_open(self) -> bool:
        """Whether a command is running."""
        return bool(self._running)

    def holds(self, moment: int) -> bool:
        """Whether a command could write at that time."""
        if any(moment >= start for start in self._running.values()):
            return True
        at = bisect_right(self._starts, moment) - 1
        return at >= 0 and moment <= self._ends[at]
