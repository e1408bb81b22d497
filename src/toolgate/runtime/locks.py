"""Writers of one session run one after another."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

_held: ContextVar[object] = ContextVar("toolgate_writer_lock", default=None)
"""The turn at a lock that the current call is part of; what a call leaves running has it still when it is over."""


class WriterLock:
    """A fair lock. A call that is made inside a call that holds it does not wait for it."""

    __slots__ = ("_busy", "_outer", "_turn", "_waiting")

    def __init__(self) -> None:
        self._busy = False
        self._outer: object = None
        self._turn: object = self
        """What the calls inside the one that has the lock have in `_held`; the lock itself while nobody has it."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter(self) -> bool | None:
        """Take the lock if it is free. False: the call is made inside one that has it; None: it has to wait."""
        outer = _held.get()
        if outer is self._turn:
            return False
        if self._busy or self._waiting:
            return None
        self._busy = True
        self._take(outer)
        return True

    async def wait(self) -> bool:
        """Wait for the turn and take it; False if there is nothing to wait for."""
        if _held.get() is self._turn:
            return False
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
        self._take(_held.get())
        return True

    def _take(self, outer: object) -> None:
        self._outer, self._turn = outer, object()
        _held.set(self._turn)

    def leave(self) -> None:
        """Let the next one in."""
        _held.set(self._outer)
        self._turn = self
        if self._waiting:
            self._hand_over()
        else:
            self._busy = False

    def _hand_over(self) -> None:
        """Give the lock, which stays busy, to the first who still waits."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._busy = False
