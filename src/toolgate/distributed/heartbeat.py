"""Signs of life: a worker says that it is there, and holds the sessions of the turns that it plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from toolgate.distributed import lease_renewal as keeping
from toolgate.distributed import workers
from toolgate.distributed.turn_executor import Outcome
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.sessions import Database

if TYPE_CHECKING:
    from toolgate.distributed.turn_executor import TurnExecutor
    from toolgate.sessions.driver import Transaction

_ROUND = 1.0
"""Seconds between two signs of life, and two looks at what nobody looks after."""


def pause_of(lease: float) -> float:
    """Seconds from one round to the next: several fit into a lease."""
    return min(_ROUND, lease / 4)


class Heartbeat:
    """The heart of a worker. It has a connection of its own, so that it never waits behind the turns that it keeps."""

    def __init__(
        self, url: str, about: Callable[[], workers.WorkerInfo], players: Mapping[str, TurnExecutor], lease: float
    ) -> None:
        """`players` is what is played at the moment, by turn."""
        self._db = Database(url)
        self._about = about
        self._players = players
        self._lease = lease
        self._heard: float | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the database knows of this worker."""
        return self._heard is not None

    @property
    def is_heard(self) -> bool:
        """Whether the database has answered within a lease."""
        return self._heard is not None and asyncio.get_running_loop().time() - self._heard <= self._lease

    async def keep(self) -> None:
        """Beat without end."""
        while True:
            await asyncio.sleep(pause_of(self._lease))
            await self.try_to_beat()

    async def try_to_beat(self) -> None:
        """Give a sign of life and hold the sessions; what cannot be held for too long is given up."""
        try:
            async with asyncio.timeout(self._lease / 2):
                await self.beat()
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").warning("no_sign_of_life", error=str(error) or "the database does not answer")
        for player in self._players.values():
            player.check()

    async def beat(self) -> None:
        """Give a sign of life, hold the sessions, and pass on what others want of their turns."""
        players = dict(self._players)
        about, held = self._about(), [player.held for player in players.values()]

        def unit(transaction: Transaction) -> keeping.Renewals:
            workers.beat(transaction, about)
            return keeping.renew(transaction, held, self._lease)

        found = await self._db.write(unit)
        self._heard = asyncio.get_running_loop().time()
        for turn_id, player in players.items():
            if turn_id in found.renewed:
                player.hold()
            if turn_id in found.lost and self._players.get(turn_id) is player:
                player.give_up(Outcome.lost)
            if turn_id in found.unwanted:
                player.cancel()

    async def close(self) -> None:
        """Let go of the connection."""
        await self._db.close()
