"""`WriterLock`: the writers of one session run one after another."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

_Turn = list[bool]
"""The period in which one call holds the lock. The list is emptied at its end: no cheaper object can show that."""

_held: ContextVar[_Turn | None] = ContextVar("toolgate_writer_lock", default=None)
"""The turn that the current call runs in. A background task of the call keeps it after the turn has ended."""


class WriterLock:
    """A fair lock, reentrant for calls that are made within the call that holds it."""

    __slots__ = ("_outer", "_reserved", "_turn", "_waiting")

    def __init__(self) -> None:
        self._outer: _Turn | None = None
        self._turn: _Turn | None = None
        """The current turn: calls within it have it in `_held`. None while the lock is free."""
        self._reserved = False
        """Whether the lock was handed to a waiting call that has not taken it yet."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter(self) -> bool | None:
        """Take the lock if it is free. False: the call is within the one that holds it. None: the call has to wait."""
        if self._turn is not None:
            return False if _held.get() is self._turn else None
        if self._reserved or self._waiting:
            return None
        self._outer = _held.get()
        self._turn = turn = [True]
        _held.set(turn)
        return True

    async def wait(self) -> bool:
        """Wait for the lock and take it. False: the call is within the one that holds it."""
        if self._turn is not None and _held.get() is self._turn:
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
        self._reserved = False
        self._outer, self._turn = _held.get(), [True]
        _held.set(self._turn)
        return True

    def leave(self) -> None:
        """Release the lock, and hand it to the next waiting call."""
        assert self._turn is not None
        self._turn.clear()
        self._turn = None
        if self._outer:  # an empty outer turn has ended, so there is nothing to restore
            _held.set(self._outer)
        if self._waiting:
            self._hand_over()

    def _hand_over(self) -> None:
        """Hand the lock to the first call that still waits."""
        self._reserved = False
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._reserved = True
                return
