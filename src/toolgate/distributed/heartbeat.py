"""A worker's heartbeat: it tells the database that the worker is alive, and renews the leases of its turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from toolgate.distributed import queue as turn_queue
from toolgate.distributed import workers
from toolgate.distributed.turn_executor import TurnOutcome
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.sessions import Database, lease_renewal

if TYPE_CHECKING:
    from toolgate.distributed.turn_executor import TurnExecutor
    from toolgate.sessions.driver import Transaction

_MAX_PAUSE = 1.0
"""Seconds between two heartbeats, and between two searches for abandoned turns, at most."""


def pause_of(lease: float) -> float:
    """Return the seconds between two rounds, which are at most a quarter of the lease."""
    return min(_MAX_PAUSE, lease / 4)


class Heartbeat:
    """The heartbeat of a worker. It has its own connection, so it never waits behind the worker's turns."""

    def __init__(
        self, url: str, describe: Callable[[], workers.WorkerInfo], executors: Mapping[str, TurnExecutor], lease: float
    ) -> None:
        """`executors` are the turns that run at the moment, by id."""
        self._db = Database(url)
        self._describe = describe
        self._executors = executors
        self._lease = lease
        self._answered_at: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the worker is registered in the database."""
        return self._answered_at is not None

    @property
    def is_heard(self) -> bool:
        """Whether the database has answered within the length of a lease."""
        return self._answered_at is not None and asyncio.get_running_loop().time() - self._answered_at <= self._lease

    async def keep(self) -> None:
        """Send heartbeats until this is cancelled."""
        while True:
            await asyncio.sleep(pause_of(self._lease))
            await self.try_to_beat()

    async def try_to_beat(self) -> None:
        """Send a heartbeat and renew the leases. A turn whose lease could not be renewed for too long is given up."""
        try:
            async with asyncio.timeout(self._lease / 2):
                await self.beat()
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").warning("no_sign_of_life", error=str(error) or "the database does not answer")
        for executor in self._executors.values():
            executor.check()

    async def beat(self) -> None:
        """Send a heartbeat, renew the leases, and pass on requests to cancel."""
        executors = dict(self._executors)
        info, held = self._describe(), [executor.held for executor in executors.values()]
        jobs = [executor.job_id for executor in executors.values()]

        def unit(transaction: Transaction) -> lease_renewal.Renewals:
            workers.beat(transaction, info)
            turn_queue.heartbeat(transaction, jobs)  # before the leases: who holds their locks must not wait
            return lease_renewal.renew(transaction, held, self._lease)

        found = await self._db.write(unit)
        self._answered_at = asyncio.get_running_loop().time()
        for turn_id, executor in executors.items():
            if turn_id in found.renewed:
                executor.hold()
            if turn_id in found.lost and self._executors.get(turn_id) is executor:
                executor.give_up(TurnOutcome.lost)
            if turn_id in found.unwanted:
                executor.cancel()

    async def close(self) -> None:
        """Close the connection."""
        await self._db.close()
