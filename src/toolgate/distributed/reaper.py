"""Looks after turns that nobody looks after: every worker does it, and it does no harm if several do at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolgate.distributed import dispatches, engine, workers
from toolgate.errors import ToolgateError
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.distributed.options import Options
    from toolgate.sessions import Database
    from toolgate.sessions.driver import Transaction


class Reaper:
    """Hands the turns of dead workers out again, wakes those whose question was answered, adopts older versions'."""

    def __init__(self, db: Database, options: Options, approval_timeout: float | None) -> None:
        self._db = db
        self._options = options
        self._approval_timeout = approval_timeout

    async def round(self) -> None:
        """Look once; raises nothing."""
        try:
            async with asyncio.timeout(self._options.lease):
                found = await self._db.write(self._look)
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").warning("reaper_failed", error=str(error) or "the database does not answer")
            return
        for what, turns in found.items():
            if turns:
                logger("distributed").info(what, turns=turns)

    def _look(self, transaction: Transaction) -> dict[str, list[str]]:
        timeout = self._options.lease
        return {
            "workers_gone": workers.bury(transaction, timeout),
            "turns_taken_from_the_dead": engine.put_back_orphans(transaction, timeout),
            "turns_found_astray": engine.put_back_strays(transaction, timeout),
            "turns_adopted": engine.adopt(transaction, timeout),
            "turns_woken": dispatches.wake(transaction, self._approval_timeout),
        }
