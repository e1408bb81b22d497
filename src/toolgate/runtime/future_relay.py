"""Waits for the tasks and futures of a tool without being closed by what they raise.

A task that is resumed with `GeneratorExit` closes every coroutine in it. If a tool raised it in a thread or in its own
task, it would end the caller, and the call would never be answered. So the caller waits for a second future that only
ever has a result, and the tool gets the failure as an ordinary error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

GRACE = 4.0
"""Seconds that a cancelled tool gets to stop before its call is settled without it."""


def relayed(
    waited: Any, loop: asyncio.AbstractEventLoop, interrupt: Callable[[], None]
) -> Generator[Any, None, BaseException | None]:
    """Wait for a future. Returns the exception to raise in the coroutine that waits for it, if any.

    Cancelling goes to the future, as it would without the relay. If the future does not end, `interrupt` is called.
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
