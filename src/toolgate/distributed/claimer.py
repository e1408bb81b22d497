"""Claims turns for a worker as soon as there are some, and runs each one in a task."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate.distributed import claims
from toolgate.distributed.claims import Claimant
from toolgate.distributed.heartbeat import pause_of
from toolgate.distributed.names import agents_queue, turns_queue
from toolgate.errors import ToolgateError
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.distributed.dispatches import ClaimedTurn
    from toolgate.distributed.options import ClusterOptions
    from toolgate.sessions import Database

_MAX_DELAY = 0.02
"""Seconds that a fully loaded worker waits, at most, before it claims, so that workers with less load claim first."""
_BUSY = 0.005
"""Seconds before the next attempt while another worker is claiming."""


@dataclass(slots=True, kw_only=True)
class _Slots:
    """The slots that a worker has for the turns of one queue."""

    claimant: Claimant
    limit: int
    running: dict[asyncio.Task[None], str] = field(default_factory=dict)
    """The tasks that run turns, with the id of the turn."""


class Claimer:
    """Claims turns while there are free slots: when a queue changes, and at intervals."""

    def __init__(
        self,
        db: Database,
        worker: str,
        workspaces: Sequence[str],
        options: ClusterOptions,
        run_turn: Callable[[ClaimedTurn], Coroutine[Any, Any, None]],
    ) -> None:
        self._db = db
        self._options = options
        self._run_turn = run_turn
        self._changed = asyncio.Event()
        self._stopping = False
        self._reclaimed_at = 0.0
        self._task: asyncio.Task[None] | None = None
        kinds = (
            (turns_queue, options.slots, options.user_turns),
            (agents_queue, options.agent_slots, options.user_agents),
        )
        self._slots = [
            _Slots(
                claimant=Claimant(worker=worker, queue=name(workspace), share=share, lease=options.lease), limit=limit
            )
            for workspace in workspaces
            for name, limit, share in kinds
        ]

    def wake(self) -> None:
        """Look for turns now."""
        self._changed.set()

    def start(self) -> None:
        """Claim turns from now on."""
        self._task = asyncio.get_running_loop().create_task(self._claim_turns(), name="toolgate-claimer")

    async def stop(self, seconds: float) -> None:
        """Claim no more turns. Wait at most so many seconds for a claim that has begun."""
        self._stopping = True
        self.wake()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)
            self._task.cancel()

    async def wait(self, seconds: float) -> None:
        """Wait until no turn runs, for so many seconds at most."""
        if tasks := self._tasks():
            await asyncio.wait(tasks, timeout=seconds)

    def cancel(self) -> None:
        """Cancel the tasks that are left. They wait for the database, and other workers resume their turns."""
        for task in self._tasks():
            task.cancel()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [task for slots in self._slots for task in slots.running]

    async def _claim_turns(self) -> None:
        while not self._stopping:
            self._changed.clear()
            try:
                for slots in self._slots:
                    await self._fill(slots)
                self._reclaimed_at = self._now() if self._is_time_to_reclaim() else self._reclaimed_at
            except (ToolgateError, TimeoutError) as error:
                logger("distributed").warning("turns_not_claimed", error=str(error) or "the database does not answer")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._options.poll):
                    await self._changed.wait()
                    await asyncio.sleep(self._load() * random.random() * _MAX_DELAY)

    async def _fill(self, slots: _Slots) -> None:
        """Claim turns until the slots are full or nothing can be claimed."""
        attempts = [claims.claim]
        if self._is_time_to_reclaim():
            attempts.append(
                functools.partial(claims.reclaim, own=[turn for one in self._slots for turn in one.running.values()])
            )
        for attempt in attempts:
            found: ClaimedTurn | bool = True
            while found and len(slots.running) < slots.limit and not self._stopping:
                found = await self._db.write(functools.partial(attempt, claimant=slots.claimant))
                if found is True:
                    await asyncio.sleep(_BUSY)
                elif found is not False:
                    self._start(slots, found)

    def _start(self, slots: _Slots, claimed: ClaimedTurn) -> None:
        task = asyncio.get_running_loop().create_task(self._run_turn(claimed), name="toolgate-turn")
        slots.running[task] = claimed.turn.id
        task.add_done_callback(lambda ended: self._ended(slots, ended))

    def _ended(self, slots: _Slots, ended: asyncio.Task[None]) -> None:
        del slots.running[ended]
        self.wake()

    def _load(self) -> float:
        return sum(len(slots.running) for slots in self._slots) / sum(slots.limit for slots in self._slots)

    def _is_time_to_reclaim(self) -> bool:
        return self._now() - self._reclaimed_at >= pause_of(self._options.lease)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
