"""Writers of one session run one after another."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

_Turn = list[bool]
"""One call's time with a lock; emptied when it is over. (A list is the cheapest object that can say so.)"""

_held: ContextVar[_Turn | None] = ContextVar("toolgate_writer_lock", default=None)
"""The turn that the current call is part of; what a call leaves running has it still when it is over."""


class WriterLock:
    """A fair lock. A call that is made inside a call that holds it does not wait for it."""

    __slots__ = ("_outer", "_reserved", "_turn", "_waiting")

    def __init__(self) -> None:
        self._outer: _Turn | None = None
        self._turn: _Turn | None = None
        """What the calls inside the one that has the lock have in `_held`; None while nobody has it."""
        self._reserved = False
        """The lock was handed to one who waited for it and has not taken it yet."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter(self) -> bool | None:
        """Take the lock if it is free. False: the call is made inside one that has it; None: it has to wait."""
        if self._turn is not None:
            return False if _held.get() is self._turn else None
        if self._reserved or self._waiting:
            return None
        self._outer = _held.get()
        self._turn = turn = [True]
        _held.set(turn)
        return True

    async def wait(self) -> bool:
        """Wait for the turn and take it; False if there is nothing to wait for."""
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
        """Let the next one in."""
        assert self._turn is not None
        self._turn.clear()
        self._turn = None
        if self._outer:  # only then: a turn that is over means nothing where it is left
            _held.set(self._outer)
        if self._waiting:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the lock to the first who still waits."""
        self._reserved = False
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._reserved = True
                return
