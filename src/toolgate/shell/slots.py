"""What all sessions of a process share: how many commands run at a time, and how many shells wait in advance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

MOST_RUNNING = 16
"""Commands that run at a time; further ones wait their turn, first come, first served."""
MOST_WAITING = 16
"""Sessions that may have shells started in advance; the one that was used longest ago gives its up."""

_running: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[object, Callable[[], None]]] = WeakKeyDictionary()


def running() -> asyncio.Semaphore:
    """One place among the running commands."""
    loop = asyncio.get_running_loop()
    slots = _running.get(loop)
    if slots is None:
        slots = _running[loop] = asyncio.Semaphore(MOST_RUNNING)
    return slots


def keep_waiting(owner: object, discard: Callable[[], None]) -> None:
    """Note that a session has shells waiting; the least recently used one loses its own when there are too many."""
    waiting = _waiting.setdefault(asyncio.get_running_loop(), {})
    waiting.pop(owner, None)
    waiting[owner] = discard
    while len(waiting) > MOST_WAITING:
        waiting.pop(next(iter(waiting)))()


def forget(owner: object) -> None:
    """A session is over."""
    _waiting.get(asyncio.get_running_loop(), {}).pop(owner, None)
