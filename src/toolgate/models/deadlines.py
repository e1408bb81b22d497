"""Deadlines of a response, and fairness towards other tasks while it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

T = TypeVar("T")

MAX_RUN_SECONDS: Final = 0.005
"""Seconds that a stream may run without waiting before other tasks get a turn."""


class FairShare:
    """Lets other tasks run while a stream delivers data faster than it can be read."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()

    async def give_way(self) -> None:
        """Let other tasks run if this task has run for longer than `MAX_RUN_SECONDS`."""
        if self._loop.time() - self._since > MAX_RUN_SECONDS:
            await asyncio.sleep(0)
            self._since = self._loop.time()


class ResponseDeadlines(FairShare):
    """The deadlines of one response.

    Raises `TimeoutError` if no content arrives for `silence` seconds, or if the response is not complete after `total`
    seconds. Keep-alives are not content: a server that sends nothing else has stopped. The time that the consumer of
    the response takes between two waits does not count.
    """

    def __init__(self, *, silence: float, total: float) -> None:
        super().__init__()
        self._silence = silence
        self._total = total
        self._last_content = self._loop.time()
        self._end = self._last_content + total

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Wait for the next piece of the response."""
        deadline = min(self._last_content + self._silence, self._end)
        try:
            async with asyncio.timeout_at(deadline):
                return await awaitable
        except TimeoutError:
            seconds = self._total if deadline == self._end else self._silence
            what = "did not end" if deadline == self._end else "brought no content (at most keep-alives)"
            raise TimeoutError(f"{what} within {seconds:g} seconds") from None

    def content_arrived(self) -> None:
        """Record that content arrived."""
        self._last_content = self._loop.time()
