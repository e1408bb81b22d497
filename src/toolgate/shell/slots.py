"""Limits that all sessions of a process share: running commands, and shells that are started in advance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

MAX_RUNNING = 16
"""Most commands that run at the same time. Further ones wait in order."""
MAX_WAITING = 16
"""Most sessions with shells started in advance. The least recently used one loses its shells."""

_running: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[object, Callable[[], None]]] = WeakKeyDictionary()


def running() -> asyncio.Semaphore:
    """Hold one place among the running commands."""
    loop = asyncio.get_running_loop()
    slots = _running.get(loop)
    if slots is None:
        slots = _running[loop] = asyncio.Semaphore(MAX_RUNNING)
    return slots


def keep_waiting(owner: object, discard: Callable[[], None]) -> None:
    """Note that a session has shells waiting. If there are too many, the least recently used session loses its own."""
    waiting = _waiting.setdefault(asyncio.get_running_loop(), {})
    waiting.pop(owner, None)
    waiting[owner] = discard
    while len(waiting) > MAX_WAITING:
        waiting.pop(next(iter(waiting)))()


def forget(owner: object) -> None:
    """Remove a session that is closed."""
    _waiting.get(asyncio.get_running_loop(), {}).pop(owner, None)
