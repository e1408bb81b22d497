"""Writers of one session run one after another."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

_held: ContextVar[WriterLock | None] = ContextVar("toolgate_writer_lock", default=None)


class WriterLock:
    """A fair lock. A call that is made inside a call that holds it does not wait for it."""

    __slots__ = ("_busy", "_outer", "_waiting")

    def __init__(self) -> None:
        self._busy = False
        self._outer: WriterLock | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    def holds(self) -> bool:
        """Whether the current call is made inside a call that has the lock: then there is nothing to wait for."""
        return _held.get() is self

    def try_acquire(self) -> bool:
        """Take the lock if it is free."""
        if self._busy or self._waiting:
            return False
        self._take()
        return True

    async def acquire(self) -> None:
        """Wait for the turn."""
        if self._busy or self._waiting:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._hand_over()
                elif waiter in self._waiting:
                    self._waiting.remove(waiter)
                raise
        self._take()

    def _take(self) -> None:
        self._busy = True
        self._outer = _held.get()
        _held.set(self)

    def release(self) -> None:
        """Let the next one in."""
        _held.set(self._outer)
        self._hand_over()

    def _hand_over(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._busy = True
                waiter.set_result(None)
                return
        self._busy = False
