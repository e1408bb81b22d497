"""Takes care of abandoned turns. Every worker does this; several may do it at the same time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolgate.distributed import dispatches, workers
from toolgate.distributed import queue as turn_queue
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.sessions.blobs import Blobs

if TYPE_CHECKING:
    from toolgate.distributed.options import ClusterOptions
    from toolgate.sessions import Database
    from toolgate.sessions.driver import Transaction

_LOG_ROUNDS = 60
"""Rounds between two deletions of the queue's log."""
_OUTPUT_ROUNDS = 600
"""Rounds between two searches for old outputs."""


class Reaper:
    """Notices dead workers, enqueues turns whose approval requests are answered, and adopts older versions' turns."""

    def __init__(self, db: Database, options: ClusterOptions, approval_timeout: float | None) -> None:
        self._db = db
        self._options = options
        self._approval_timeout = approval_timeout
        self._rounds = 0
        self._blobs = Blobs(db)
        self._outputs_left = False
        """Whether there are old outputs to remove. Each round removes only some, so that abandoned turns do not wait.
        """

    async def round(self) -> None:
        """Run one round. An unavailable database is logged, and the next round tries again."""
        try:
            async with asyncio.timeout(self._options.lease):
                found = await self._db.write(self._reap)
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").warning("reaper_failed", error=str(error) or "the database does not answer")
            return
        await self._tidy()
        for event, ids in found.items():
            if ids:
                logger("distributed").info(event, ids=ids)

    async def _tidy(self) -> None:
        """Delete old outputs and the queue's log, but only every so many rounds."""
        self._rounds += 1
        if self._outputs_left or self._rounds % _OUTPUT_ROUNDS == 1:
            await self._remove_outputs()
        if self._rounds % _LOG_ROUNDS != 1:
            return
        try:
            await self._db.write(turn_queue.tidy)
        except ToolgateError as error:  # the next round tries again
            logger("distributed").info("queue_not_tidied", error=str(error))

    async def _remove_outputs(self) -> None:
        try:
            async with asyncio.timeout(self._options.lease):
                self._outputs_left = await self._blobs.tidy(self._options.retention)
        except (ToolgateError, TimeoutError) as error:
            self._outputs_left = False
            logger("distributed").warning("outputs_not_removed", error=str(error) or "the database does not answer")

    def _reap(self, transaction: Transaction) -> dict[str, list[str]]:
        timeout = self._options.lease
        return {
            "workers_gone": workers.remove_dead(transaction, timeout),
            "turns_adopted": dispatches.adopt(transaction, timeout),
            "turns_woken": dispatches.wake(transaction, self._approval_timeout),
        }
