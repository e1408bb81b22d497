"""`Worker`: claims turns from the queues of its workspaces and runs them until it is told to stop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.distributed import dispatches, workers
from toolgate.distributed import queue as turn_queue
from toolgate.distributed.claimer import Claimer
from toolgate.distributed.heartbeat import Heartbeat, pause_of
from toolgate.distributed.names import version
from toolgate.distributed.options import ClusterOptions
from toolgate.distributed.reaper import Reaper
from toolgate.distributed.retry import retry_until_available
from toolgate.distributed.status import ClusterStatus, read_status
from toolgate.distributed.turn_executor import ExecutorDependencies, TurnExecutor, TurnOutcome
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.protocol.ids import uuid7

if TYPE_CHECKING:
    from toolgate.agent import AgentLoop
    from toolgate.distributed.dispatches import ClaimedTurn
    from toolgate.distributed.workers import WorkerState
    from toolgate.sessions import Database, Lease

_MAX_FAILURES = 5
"""Attempts at a turn that fails in an unexpected way, before it ends as failed."""
_STATUS_SECONDS = 3.0
"""Seconds that a request for the status waits for the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRuntime:
    """How a worker runs the turns of one workspace."""

    db: Database
    agent_of: Callable[[str, Lease], AbstractAsyncContextManager[AgentLoop]]
    """Returns the agent of a user, for the session of the lease."""
    shared: bool = True
    """Whether other workers see the same files: then sub-agents may run there."""
    directory: str = ""
    """The directory of the workspace."""


class Worker:
    """A process that runs turns in its workspaces."""

    def __init__(
        self,
        db: Database,
        url: str,
        runtimes: Mapping[str, WorkspaceRuntime],
        options: ClusterOptions,
        *,
        approval_timeout: float | None = None,
    ) -> None:
        self.id = uuid7()
        self._db = db
        self._url = url
        self._runtimes = runtimes
        self._options = options
        self._approval_timeout = approval_timeout
        self._reaper = Reaper(db, options, approval_timeout)
        self._state: WorkerState = "ready"
        self._executors: dict[str, TurnExecutor] = {}
        self._heartbeat = Heartbeat(url, self._info, self._executors, options.lease)
        self._claimer = Claimer(db, self.id, tuple(runtimes), options, self._run_turn)
        self._failures: Counter[str] = Counter()
        """How often a turn has failed in an unexpected way."""
        self._background_tasks: list[asyncio.Task[None]] = []

    @property
    def running(self) -> int:
        """The number of turns that run now."""
        return len(self._executors)

    @property
    def is_ready(self) -> bool:
        """Whether it claims turns: it is not shutting down, and its heartbeat is stored."""
        return self.condition == "ready"

    @property
    def condition(self) -> str:
        """`ready`, or the reason why it is not."""
        if self._state == "ready" and not self._heartbeat.is_heard:
            return "the database has not answered for longer than the lease"
        return self._state

    @property
    def slots(self) -> int:
        """Turns that it runs at the same time, per workspace."""
        return self._options.slots

    async def status(self) -> ClusterStatus | None:
        """The status of the cluster; None if the database is unavailable."""
        try:
            async with asyncio.timeout(_STATUS_SECONDS):
                return await self._db.read(lambda tx: read_status(tx, lease=self._options.lease))
        except (ToolgateError, TimeoutError):
            return None

    async def start(self) -> None:
        """Register the worker and start to claim turns."""
        await turn_queue.prepare(self._db, self._url)
        await self._heartbeat.beat()
        loop = asyncio.get_running_loop()
        self._background_tasks = [
            loop.create_task(turn_queue.listen(self._url, self._claimer.wake), name="toolgate-queue"),
            loop.create_task(self._heartbeat.keep(), name="toolgate-heartbeat"),
            loop.create_task(self._run_reaper(), name="toolgate-reaper"),
        ]
        self._claimer.start()

    async def drain(self) -> None:
        """Claim no more turns, finish those that run, and return the rest to the queue."""
        self._state = "draining"
        await self._claimer.stop(self._options.lease)
        await self._heartbeat.try_to_beat()
        await self._claimer.wait(self._options.drain)
        self.hand_over()  # an unavailable database must not delay the shutdown: other workers resume the turns
        await self._claimer.wait(2 * self._options.lease)

    def hand_over(self) -> None:
        """Return the running turns to the queue."""
        for executor in list(self._executors.values()):
            executor.give_up(TurnOutcome.handed_over)

    async def stop(self) -> None:
        """Drain, unregister and close everything."""
        if not self._heartbeat.has_begun:  # it never started, so there is nothing to unregister
            await self._heartbeat.close()
            return
        await self.drain()
        for task in self._background_tasks:
            task.cancel()
        await asyncio.wait(self._background_tasks)
        self._claimer.cancel()
        try:
            await self._db.write(lambda tx: workers.leave(tx, self.id))
        except ToolgateError as error:
            logger("distributed").warning("worker_not_signed_off", error=str(error))
        await self._heartbeat.close()

    async def _run_turn(self, claimed: ClaimedTurn) -> None:
        """Run a claimed turn until it has ended, is parked, or is in its queue again."""
        turn_id = claimed.turn.id
        older = self._executors.get(turn_id)
        if older is not None:  # this worker was thought dead, and has claimed its own turn again
            older.give_up(TurnOutcome.lost)
        try:
            outcome = await self._execute(claimed)
        except Exception as error:  # noqa: BLE001 - whatever it was, the turn must end or go back into its queue
            logger("distributed").error("turn_broke", turn_id=turn_id, error=type(error).__name__, exc_info=error)
            outcome = await self._retry_or_fail(claimed, type(error).__name__)
        if outcome is TurnOutcome.lost:
            await retry_until_available(lambda: self._db.write(lambda tx: dispatches.put_back(tx, claimed)))
        else:
            self._failures.pop(turn_id, None)

    async def _execute(self, claimed: ClaimedTurn) -> TurnOutcome:
        runtime, turn_id = self._runtimes[claimed.workspace], claimed.turn.id
        dependencies = ExecutorDependencies(
            db=runtime.db,
            agent=runtime.agent_of(claimed.user, claimed.lease),
            options=self._options,
            approval_timeout=self._approval_timeout,
            shared=runtime.shared,
        )
        executor = self._executors[turn_id] = TurnExecutor(dependencies, claimed)
        try:
            return await executor.run_turn()
        finally:
            if self._executors.get(turn_id) is executor:
                del self._executors[turn_id]

    async def _retry_or_fail(self, claimed: ClaimedTurn, error_name: str) -> TurnOutcome:
        """Return the turn to its queue; end it as failed if it has failed here too often."""
        turn_id = claimed.turn.id
        self._failures[turn_id] += 1
        if self._failures[turn_id] < _MAX_FAILURES:
            return TurnOutcome.lost
        result = {"status": "failed", "code": "INTERNAL_ERROR", "error": f"The turn could not be run ({error_name})."}
        try:
            await self._db.write(lambda tx: dispatches.finish(tx, claimed.lease, turn_id, result, job=claimed.job))
        except ToolgateError as error:
            logger("distributed").warning("turn_not_ended", turn_id=turn_id, error=str(error))
            return TurnOutcome.lost
        return TurnOutcome.ended

    async def _run_reaper(self) -> None:
        while True:
            await asyncio.sleep(pause_of(self._options.lease))
            await self._reaper.round()

    def _info(self) -> workers.WorkerInfo:
        return workers.WorkerInfo(
            id=self.id,
            version=version(),
            places={name: runtime.directory for name, runtime in self._runtimes.items()},
            slots=self._options.slots,
            running=len(self._executors),
            state=self._state,
        )
