"""Runs one turn on a worker while it has the lease of the turn's session."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.agent.approvals import DurableApprover
from toolgate.agent.subagents import SubAgents
from toolgate.agent.turn import RunningTurn
from toolgate.agent.turn_result import RETRYABLE, TurnResult, run_turn
from toolgate.distributed import dispatches
from toolgate.distributed.agents import subagents_on_workers
from toolgate.distributed.live import LiveWriter
from toolgate.errors import PolicyError, SessionFenced, ToolError, ToolgateError, WorkspaceError
from toolgate.log import logger
from toolgate.sessions.approvals import allowed_before
from toolgate.sessions.revocable_lease import TurnLease

if TYPE_CHECKING:
    from toolgate.agent import AgentEvent, AgentLoop
    from toolgate.distributed.options import ClusterOptions
    from toolgate.sessions import Database, Lease

MAX_ATTEMPTS = 20
"""Workers that may be lost while they run one turn."""
_TOO_MANY_ATTEMPTS = f"{MAX_ATTEMPTS} workers were lost while they ran this turn; it is not tried again."


class TurnOutcome(enum.Enum):
    """The outcome of one attempt to run a turn."""

    ended = "ended"
    lost = "lost"
    parked = "parked"
    handed_over = "handed_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorDependencies:
    """What an executor works with."""

    db: Database
    agent: AbstractAsyncContextManager[AgentLoop]
    options: ClusterOptions
    approval_timeout: float | None
    shared: bool
    """Whether other workers see the same files."""


class TurnExecutor:
    """Runs one claimed turn."""

    def __init__(self, dependencies: ExecutorDependencies, claimed: dispatches.ClaimedTurn) -> None:
        self._dependencies = dependencies
        self._claimed = claimed
        self._lease = TurnLease.of(claimed.lease)
        self._turn: RunningTurn | None = None
        self._given_up: TurnOutcome | None = None
        self._was_given_up = asyncio.Event()
        self._approver: DurableApprover | None = None
        self._live: LiveWriter | None = None
        self._held_until = 0.0
        self.hold()

    @property
    def held(self) -> tuple[Lease, str]:
        """The lease to renew, and the id of the turn."""
        return self._claimed.lease, self._claimed.turn.id

    @property
    def job_id(self) -> int:
        """The job of the turn, which needs a heartbeat."""
        return int(self._claimed.job.id)

    def hold(self) -> None:
        """Note that the lease was renewed."""
        self._held_until = asyncio.get_running_loop().time() + self._dependencies.options.lease

    def check(self) -> None:
        """Give the turn up if its lease has expired: another worker may have claimed the session."""
        if asyncio.get_running_loop().time() > self._held_until:
            self.give_up(TurnOutcome.lost)

    def cancel(self) -> None:
        """Stop the turn, because a person asked for it."""
        if self._turn is not None:
            self._turn.stop()

    def give_up(self, outcome: TurnOutcome) -> None:
        """Stop running the turn without ending it."""
        if self._given_up is None:
            self._given_up = outcome
            self._was_given_up.set()

    async def run_turn(self) -> TurnOutcome:
        """Run the turn until it ends, is lost or is parked."""
        claimed = self._claimed
        first = claimed.position
        with self._dependencies.db.feed.track(claimed.lease.session_id) as position:
            self._live = LiveWriter(
                self._dependencies.db, claimed.lease, claimed.turn.id, lambda: max(first, position())
            )
            try:
                return await self._run_with_agent()
            finally:
                await self._live.close()

    async def _run_with_agent(self) -> TurnOutcome:
        if self._claimed.turn.attempt > MAX_ATTEMPTS:
            return await self._end(TurnResult(status="failed", code="INTERNAL_ERROR", message=_TOO_MANY_ATTEMPTS))
        try:
            async with self._dependencies.agent as loop:
                return await self._run_turn(loop)
        except (ToolError, PolicyError, WorkspaceError) as error:  # an unknown sub-agent, an invalid policy, lost files
            return await self._end(TurnResult(status="failed", code="INTERNAL_ERROR", message=str(error)))
        except ToolgateError as error:
            logger("distributed").warning("turn_lost", turn_id=self._claimed.turn.id, error=str(error))
            return TurnOutcome.lost

    async def _run_turn(self, loop: AgentLoop) -> TurnOutcome:
        claimed, dependencies = self._claimed, self._dependencies
        approver = self._approver = self._make_approver(loop)
        subagents: Callable[..., SubAgents] = SubAgents  # in this process, because only it sees the files
        if dependencies.shared:
            subagents = subagents_on_workers(dependencies.db, claimed, lambda: self._given_up is not None)
        async with loop.turns.resume(
            self._lease,
            claimed.turn.id,
            emit=self._emit,
            approver=approver,
            subagents=subagents,
            agent=claimed.agent,
            allowed=await self._allowed(),
        ) as turn:
            self._turn = turn
            if claimed.turn.cancel_requested_at is not None:
                turn.stop()
            result = await self._run_until_done(turn)
            return result if isinstance(result, TurnOutcome) else await self._end(result)

    async def _allowed(self) -> list[str]:
        """Return what a person has allowed a resumed sub-agent for the rest of its turn."""
        claimed = self._claimed
        asked_in, session_id = claimed.parent_session, claimed.lease.session_id
        if asked_in is None or not claimed.agent or not claimed.resumed:
            return []
        return await self._dependencies.db.read(
            lambda tx: allowed_before(tx, session_id, claimed.turn.id, claimed.agent, asked_in)
        )

    def _emit(self, event: AgentEvent) -> None:
        if self._live is not None:
            self._live.emit(event)

    async def clear_live(self) -> None:
        """Stop live output. The database deletes what was shown so far when the turn is released."""
        if self._live is not None:
            await self._live.close()

    async def _run_until_done(self, turn: RunningTurn) -> TurnResult | TurnOutcome:
        """Run the turn until it ends or is given up."""
        loop = asyncio.get_running_loop()
        running = loop.create_task(run_turn(turn))
        giving_up = loop.create_task(self._was_given_up.wait())
        try:
            await asyncio.wait({running, giving_up}, return_when=asyncio.FIRST_COMPLETED)
            if running.done() or self._given_up is None:
                result = await running
                if result.code not in RETRYABLE:
                    return result
                self.give_up(TurnOutcome.lost)  # first: its sub-agents and approval requests continue
            outcome = self._given_up or TurnOutcome.lost
            await self._release(outcome)
            return outcome
        finally:
            giving_up.cancel()
            turn.is_handed_over = self._given_up is not None
            turn.stop()
            await asyncio.wait({running})

    def _make_approver(self, loop: AgentLoop) -> DurableApprover:
        claimed, dependencies = self._claimed, self._dependencies
        person = None
        if claimed.parent_session is not None and claimed.turn.parent_id is not None:
            person = (claimed.parent_session, claimed.turn.parent_id)
        return DurableApprover(
            loop.sessions,
            claimed.lease,
            claimed.turn.id,
            timeout=dependencies.approval_timeout,
            asked_in=person,
            resumable=True,
            park_after=None if person else dependencies.options.park,
            park=lambda: self.give_up(TurnOutcome.parked),
        )

    async def _release(self, outcome: TurnOutcome) -> None:
        """Release the session before the turn stops, so that whatever the turn still writes is refused."""
        self._lease.void()
        if self._approver is not None:
            self._approver.parked = True
        if outcome is TurnOutcome.lost:
            return
        handoff_state = self._handoff_state()
        await self.clear_live()
        release = dispatches.park if outcome is TurnOutcome.parked else dispatches.put_back
        await self._dependencies.db.write(lambda tx: release(tx, self._claimed, handoff_state))
        self._mark_handoff_stored(handoff_state)

    async def _end(self, result: TurnResult) -> TurnOutcome:
        columns = {"status": result.status, "code": result.code, "error": result.message, "details": result.details}
        claimed, handoff_state = self._claimed, self._handoff_state()
        await self.clear_live()
        try:
            await self._dependencies.db.write(
                lambda tx: dispatches.finish(
                    tx, claimed.lease, claimed.turn.id, columns, job=claimed.job, handoff_state=handoff_state
                )
            )
        except SessionFenced:
            return TurnOutcome.lost
        self._mark_handoff_stored(handoff_state)
        return TurnOutcome.ended

    def _handoff_state(self) -> str | None:
        """Return the state for the session's next turn, if it has changed. A sub-agent has only one turn: None."""
        return None if self._turn is None or self._turn.handoff is None else self._turn.handoff.if_changed()

    def _mark_handoff_stored(self, handoff_state: str | None) -> None:
        if self._turn is not None and self._turn.handoff is not None:
            self._turn.handoff.mark_stored(handoff_state)
