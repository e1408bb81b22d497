"""Waiting for what a tool waits for, when that is a task or the outcome of a thread.

A task that is resumed with `GeneratorExit` closes everything that waits in it, as if its owner had given it up: one
that a tool raises in a thread or in a task of its own would take the caller down, and its call would never be answered.
So the caller waits for a future that only ever has a result, and the tool is told of the failure as an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

GRACE = 4.0
"""Seconds that a cancelled tool gets to stop before its call is settled without it."""


def needs_relay(waited: Any) -> bool:
    """Whether it may end with whatever somebody raised: a task, or a future that stands for something else.

    A plain one, on which nobody else has a callback, is set by code of asyncio's or the tool's own and needs none.
    """
    return type(waited) is not asyncio.Future or bool(waited._callbacks)  # noqa: SLF001 - asyncio shows it nowhere else


def relayed(
    waited: Any, loop: asyncio.AbstractEventLoop, interrupt: Callable[[], None]
) -> Generator[Any, None, BaseException | None]:
    """Wait for a future; what is to be raised in whoever waits for it, if anything.

    Cancelling goes to the future, as it would without this; one that does not end by it is interrupted again.
    """
    if not asyncio.isfuture(waited):  # asyncio's bare `yield`
        yield waited
        return None
    waited._asyncio_future_blocking = False  # noqa: SLF001 - the task's part of the protocol
    timer: asyncio.TimerHandle | None = None
    try:
        while not waited.done():
            try:
                yield from _signal(waited, loop)
            except asyncio.CancelledError as cancelled:
                if (timer is not None and loop.time() >= timer.when()) or not waited.cancel():
                    return cancelled
                timer = timer or loop.call_later(GRACE, interrupt)
    finally:
        if timer is not None:
            timer.cancel()
    return _failure(waited)


def _signal(waited: asyncio.Future[Any], loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
    """A future that is done when the other one is, however that ended."""
    signal: asyncio.Future[None] = loop.create_future()

    def ended(_: object) -> None:
        if not signal.done():
            signal.set_result(None)

    waited.add_done_callback(ended)
    return signal


def _failure(waited: asyncio.Future[Any]) -> BaseException | None:
    if waited.cancelled():
        return asyncio.CancelledError()
    failure = waited.exception()
    return RuntimeError("raised GeneratorExit") if isinstance(failure, GeneratorExit) else failure
