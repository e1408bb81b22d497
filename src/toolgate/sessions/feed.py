"""Tells followers of a session that its log has grown, and gives them the new events."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from toolgate.sessions.driver import Row

_MAX_ROWS = 1000
"""Rows that wait for one follower; a follower that is further behind reads the log instead."""


class NewEvents(asyncio.Event):
    """Set when a session may have new events.

    Events that were committed in this process are delivered as rows. Of other events at most the number is known; for
    these the follower reads the log.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[Row] = []
        self._latest = 0
        """The highest number that was announced."""
        self._uncertain = True
        """Whether there may be events whose number was not announced."""

    def deliver(self, seq: int | None, rows: Sequence[Row] = ()) -> None:
        """Announce events up to `seq`; None means that any number of events may have been added."""
        if seq is None:
            self._uncertain = True
        else:
            self._latest = max(self._latest, seq)
        if len(self._rows) + len(rows) <= _MAX_ROWS:
            self._rows += rows
        else:
            self._rows.clear()
        self.set()

    def look_again(self) -> None:
        """Make the follower read the log next time, even if nothing was announced."""
        self._uncertain = True

    def take(self, after_seq: int) -> list[Row] | None:
        """The rows directly after a number, without a gap; None if the log has to be read."""
        rows, self._rows = [row for row in self._rows if row[1] > after_seq], []
        if self._uncertain:
            self._uncertain = False
            return None
        complete = [row[1] for row in rows] == list(range(after_seq + 1, after_seq + 1 + len(rows)))
        return rows if complete and self._latest <= after_seq + len(rows) else None


class Feed:
    """Wakes the followers of sessions, from any thread."""

    def __init__(self) -> None:
        self._followers: dict[str, list[tuple[asyncio.AbstractEventLoop, NewEvents]]] = {}
        self._tracked: dict[str, list[int]] = {}
        """Session → the number of its last event that this process wrote, and how many callers track it."""
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def follow(self, session_id: str) -> Iterator[NewEvents]:
        """An event that is set whenever there may be something new."""
        follower = asyncio.get_running_loop(), NewEvents()
        with self._lock:
            self._followers.setdefault(session_id, []).append(follower)
        try:
            yield follower[1]
        finally:
            with self._lock:
                left = self._followers[session_id]
                left.remove(follower)
                if not left:
                    del self._followers[session_id]

    @property
    def followed(self) -> bool:
        """Whether anybody follows any session."""
        return bool(self._followers)

    @contextlib.contextmanager
    def track(self, session_id: str) -> Iterator[Callable[[], int]]:
        """Yield a function that returns the number of the last event that this process has written.

        When a write returns, the number includes that write.
        """
        last = self._tracked.setdefault(session_id, [0, 0])
        last[1] += 1
        try:
            yield lambda: last[0]
        finally:
            last[1] -= 1
            if not last[1]:
                self._tracked.pop(session_id, None)

    def committed(self, sessions: Mapping[str, int], rows: Iterable[Row] = ()) -> None:
        """Announce a commit of this process: the last number of each session, and the events that were written."""
        if self._tracked:
            for session_id, seq in sessions.items():
                last = self._tracked.get(session_id)
                if last is not None:
                    last[0] = max(last[0], seq)
        if self._followers:
            by_session: dict[str, list[Row]] = {}
            for row in rows:
                by_session.setdefault(row[0], []).append(row)
            for session_id, seq in sessions.items():
                self._deliver(session_id, seq, by_session.get(session_id, ()))

    def announced(self, sessions: Mapping[str, int]) -> None:
        """Announce events up to these numbers that any process may have written."""
        for session_id, seq in sessions.items():
            self._deliver(session_id, seq)

    def wake_all(self) -> None:
        """Say that any session may have new events."""
        for session_id in list(self._followers):
            self._deliver(session_id, None)

    def _deliver(self, session_id: str, seq: int | None, rows: Sequence[Row] = ()) -> None:
        with self._lock:
            followers = list(self._followers.get(session_id, ()))
        for loop, news in followers:
            with contextlib.suppress(RuntimeError):  # the follower's event loop has ended
                loop.call_soon_threadsafe(news.deliver, seq, rows)
