"""Telling those who follow a session that its log has grown."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping


class Feed:
    """Wakes the followers of sessions, from any thread. It carries no events: who is woken reads them by `seq`."""

    def __init__(self) -> None:
        self._followers: dict[str, list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}
        self._tracked: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def follow(self, session_id: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever there may be something new."""
        follower = asyncio.get_running_loop(), asyncio.Event()
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
        """Whether anybody follows anything."""
        return bool(self._followers)

    @contextlib.contextmanager
    def track(self, session_id: str) -> Iterator[Callable[[], int]]:
        """Tells the number of the last event that was written here; by when a write returns, it includes that."""
        last = self._tracked.setdefault(session_id, [0, 0])
        last[1] += 1
        try:
            yield lambda: last[0]
        finally:
            last[1] -= 1
            if not last[1]:
                self._tracked.pop(session_id, None)

    def wake(self, sessions: Iterable[str]) -> None:
        """Say that these sessions have new events."""
        if self._tracked and isinstance(sessions, Mapping):
            for session_id, seq in sessions.items():
                last = self._tracked.get(session_id)
                if last is not None:
                    last[0] = max(last[0], seq)
        if self._followers:
            with self._lock:
                woken = [follower for session_id in sessions for follower in self._followers.get(session_id, ())]
            self._wake(woken)

    def wake_all(self) -> None:
        """Say that any session may have new events."""
        with self._lock:
            woken = [follower for followers in self._followers.values() for follower in followers]
        self._wake(woken)

    def _wake(self, followers: Iterable[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        for loop, event in followers:
            with contextlib.suppress(RuntimeError):  # its loop has ended, and so has who waited in it
                loop.call_soon_threadsafe(event.set)
