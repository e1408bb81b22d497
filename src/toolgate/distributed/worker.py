"""`Worker`: claims turns from the queues of its workspaces and runs them until it is told to stop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.distributed import dispatches, workers
from toolgate.distributed.engine import Engine, TurnQueue
from toolgate.distributed.exposition import as_metrics, worker_metrics
from toolgate.distributed.heartbeat import Heartbeat, pause_of
from toolgate.distributed.names import agents_queue, turns_queue, version
from toolgate.distributed.options import Options
from toolgate.distributed.reaper import Reaper
from toolgate.distributed.status import look
from toolgate.distributed.turn_executor import ExecutorDependencies, Outcome, TurnExecutor
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.protocol.ids import uuid7
from toolgate.sessions import leases

if TYPE_CHECKING:
    from toolgate.agent import AgentLoop
    from toolgate.distributed.workers import WorkerState
    from toolgate.sessions import Database

_MOST_BREAKS = 5
"""Attempts at a turn that fails in an unexpected way."""
_ANSWER = 3.0
"""Seconds that a metrics request waits for the database."""
_PAUSE = 0.25
"""Seconds before a session that is in use is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRuntime:
    """What the turns of one workspace run with."""

    db: Database
    loop_of: Callable[[str], AgentLoop]
    """Returns the agent of a user."""
    place: str = ""
    """The directory of the workspace."""


class Worker:
    """A process that runs turns in its workspaces."""

    def __init__(
        self,
        db: Database,
        url: str,
        runtimes: Mapping[str, WorkspaceRuntime],
        options: Options,
        *,
        approval_timeout: float | None = None,
    ) -> None:
        self.id = uuid7()
        self._db = db
        self._runtimes = runtimes
        self._options = options
        self._approval_timeout = approval_timeout
        self._turn_queue = TurnQueue(url)
        self._engine = Engine(url, self.id, options)
        self._reaper = Reaper(db, self._turn_queue, options, approval_timeout)
        self._state: WorkerState = "ready"
        self._players: dict[str, TurnExecutor] = {}
        self._pulse = Heartbeat(url, self._about, self._players, options.lease)
        self._running: set[asyncio.Future[None]] = set()
        self._workflows: set[asyncio.Task[None]] = set()
        """Tasks of dbos. A task that has lost its turn waits until another worker has ended it."""
        self._breaks: Counter[str] = Counter()
        """How often a turn has failed in an unexpected way."""
        self._regular: list[asyncio.Task[None]] = []

    @property
    def running(self) -> int:
        """The number of turns that run now."""
        return len(self._players)

    @property
    def is_ready(self) -> bool:
        """Whether it claims turns: it is not shutting down, and its heartbeat is stored."""
        return self.condition == "ready"

    @property
    def condition(self) -> str:
        """`ready`, or the reason why it is not."""
        if self._state == "ready" and not self._pulse.is_heard:
            return "the database has not answered for longer than the lease"
        return self._state

    async def metrics(self) -> str:
        """Metrics in the Prometheus text format: of this worker, and of the cluster if the database is available."""
        try:
            async with asyncio.timeout(_ANSWER):
                status = await self._db.read(lambda tx: look(tx, lease=self._options.lease))
        except (ToolgateError, TimeoutError):
            status = None
        return as_metrics(status) + worker_metrics(self.running, self._options.slots, ready=self.is_ready)

    async def start(self) -> None:
        """Register the worker and start to claim turns."""
        await self._turn_queue.prepare(self._db)
        await self._pulse.beat()
        queues = [turns_queue(name) for name in self._runtimes], [agents_queue(name) for name in self._runtimes]
        await self._engine.start(self._run_turn, *queues)
        loop = asyncio.get_running_loop()
        self._regular = [loop.create_task(self._pulse.keep()), loop.create_task(self._keep_looking())]

    async def drain(self) -> None:
        """Claim no more turns, finish those that run, and return the rest to the queue."""
        self._state = "draining"
        self._engine.stop_taking()
        await self._pulse.try_to_beat()
        if self._running:
            await asyncio.wait(self._running, timeout=self._options.drain)
        self.hand_over()
        if self._running:  # an unavailable database must not delay the shutdown: other workers resume the turns
            await asyncio.wait(self._running, timeout=2 * self._options.lease)

    def hand_over(self) -> None:
        """Return the running turns to the queue."""
        for player in list(self._players.values()):
            player.give_up(Outcome.handed_over)

    async def stop(self) -> None:
        """Drain, unregister and close everything."""
        if not self._pulse.has_begun:  # it never started, so there is nothing to unregister
            await self._pulse.close()
            self._turn_queue.close()
            return
        await self.drain()
        for task in self._regular:
            task.cancel()
        for workflow in list(self._workflows):
            workflow.cancel()
        await self._engine.stop()
        try:
            await self._db.write(lambda tx: workers.leave(tx, self.id))
        except ToolgateError as error:
            logger("distributed").warning("worker_not_signed_off", error=str(error))
        await self._pulse.close()
        self._turn_queue.close()

    async def _run_turn(self, turn_id: str, session_id: str) -> None:
        """The workflow: it returns when the turn has ended, was parked, or belongs to another worker."""
        workflow, running = asyncio.current_task(), asyncio.get_running_loop().create_future()
        assert workflow is not None
        self._workflows.add(workflow)
        workflow.add_done_callback(self._workflows.discard)
        self._running.add(running)
        try:
            older = self._players.get(turn_id)
            if older is not None:  # this worker was thought dead, and is given its own turn again
                older.give_up(Outcome.lost)
            again = True
            while again:
                again = await self._attempt(turn_id, session_id)
                if again:
                    await asyncio.sleep(_PAUSE)
        finally:
            self._breaks.pop(turn_id, None)
            self._running.discard(running)
            running.set_result(None)
            self._engine.freed()

    async def _attempt(self, turn_id: str, session_id: str) -> bool:
        """Try to run the turn; return whether it has to be tried again."""
        if turn_id in self._players:
            return True
        try:
            if self._state != "ready":
                await self._db.write(lambda tx: dispatches.decline(tx, turn_id, self.id))
                return False
            taken = await self._db.write(
                lambda tx: dispatches.take(tx, turn_id, session_id, self.id, self._options.lease)
            )
        except ToolgateError as error:
            logger("distributed").warning("turn_not_taken", turn_id=turn_id, error=str(error))
            return True
        if isinstance(taken, bool):
            return not taken
        try:
            return await self._played(taken) is Outcome.lost
        except Exception as error:  # noqa: BLE001 - the workflow must not fail, or its turn would never end
            logger("distributed").error("turn_broke", turn_id=turn_id, error=type(error).__name__, exc_info=error)
            return not await self._broken(taken, type(error).__name__)

    async def _played(self, taken: dispatches.ClaimedTurn) -> Outcome:
        runtime = self._runtimes[taken.workspace]
        dependencies = ExecutorDependencies(
            db=runtime.db,
            loop=runtime.loop_of(taken.user),
            options=self._options,
            approval_timeout=self._approval_timeout,
            turn_queue=self._turn_queue,
        )
        player = self._players[taken.turn.id] = TurnExecutor(dependencies, taken)
        try:
            outcome = await player.run_turn()
        finally:
            del self._players[taken.turn.id]
        if outcome is Outcome.lost:
            await self._let_go(taken)
        return outcome

    async def _broken(self, taken: dispatches.ClaimedTurn, what: str) -> bool:
        """End a turn that fails here every time; return whether it has ended."""
        turn_id = taken.turn.id
        self._breaks[turn_id] += 1
        if self._breaks[turn_id] < _MOST_BREAKS:
            await self._let_go(taken)
            return False
        ending = {"status": "failed", "code": "INTERNAL_ERROR", "error": f"The turn could not be played ({what})."}
        try:
            await self._db.write(lambda tx: dispatches.finish(tx, taken.lease, turn_id, ending))
        except ToolgateError as error:
            logger("distributed").warning("turn_not_ended", turn_id=turn_id, error=str(error))
            return False
        return True

    async def _let_go(self, taken: dispatches.ClaimedTurn) -> None:
        """Release the session if the lease is still valid, so that the next worker need not wait until it expires."""
        try:
            async with asyncio.timeout(self._options.lease / 2):
                await self._db.write(lambda tx: leases.release(tx, taken.lease))
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").info("lease_not_released", error=type(error).__name__)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(pause_of(self._options.lease))
            await self._reaper.round()

    def _about(self) -> workers.WorkerInfo:
        return workers.WorkerInfo(
            id=self.id,
            version=version(),
            places={name: runtime.place for name, runtime in self._runtimes.items()},
            slots=self._options.slots,
            running=len(self._players),
            state=self._state,
        )
