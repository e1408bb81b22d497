"""How long an answer may take, and how long reading it may keep the event loop to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

T = TypeVar("T")

SLICE: Final = 0.005
"""Seconds for which a stream that never has to wait may run before other tasks get their turn."""


class FairShare:
    """Lets other tasks run while a stream brings more than can be read at once."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()

    async def give_way(self) -> None:
        """Let others run if this task has run for a while."""
        if self._loop.time() - self._since > SLICE:
            await asyncio.sleep(0)
            self._since = self._loop.time()


class Pace(FairShare):
    """The deadlines of one answer.

    `TimeoutError` if nothing useful came for `silence` seconds, or if the answer has not ended after `total` seconds.
    Keep-alives are not useful: a server that sends nothing else has stopped. Time that the reader of the answer takes
    between two waits does not count as silence.
    """

    def __init__(self, *, silence: float, total: float) -> None:
        super().__init__()
        self._silence = silence
        self._total = total
        self._useful = self._loop.time()
        self._end = self._useful + total

    async def within(self, awaitable: Awaitable[T]) -> T:
        """Wait for the next piece of the answer."""
        deadline = min(self._useful + self._silence, self._end)
        try:
            async with asyncio.timeout_at(deadline):
                return await awaitable
        except TimeoutError:
            seconds = self._total if deadline == self._end else self._silence
            what = "did not end" if deadline == self._end else "brought nothing but keep-alives, or nothing,"
            raise TimeoutError(f"{what} within {seconds:g} seconds") from None

    def progressed(self) -> None:
        """Note that something useful came."""
        self._useful = self._loop.time()
