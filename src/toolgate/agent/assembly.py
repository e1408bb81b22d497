"""Building a turn, for the main agent and for sub-agents."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from toolgate.agent.approvals import AskAfterStoring
from toolgate.agent.compaction import Compactor
from toolgate.agent.dependencies import TurnDependencies
from toolgate.agent.events import AgentEvent
from toolgate.agent.handoff import SessionHandoff
from toolgate.agent.recording import TurnRecorder
from toolgate.agent.turn import RunningTurn
from toolgate.errors import SessionFenced, ToolgateError
from toolgate.log import logger
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.ports import AgentRunner, Approver
from toolgate.sessions import Lease, SessionStore
from toolgate.tools.context import ToolContext
from toolgate.tools.names import SKILL_TOOL

_POLL_SECONDS = 1.0
"""Seconds between two checks whether another process wants the turn to end."""


def assemble_turn(
    dependencies: TurnDependencies,
    context: ToolContext,
    lease: Lease,
    turn_id: str,
    mode: ToolMode,
    *,
    emit: Callable[[AgentEvent], None],
    compactor: Compactor,
    approver: Approver | None,
    agents: AgentRunner | None,
    live_output: bool = False,
    kind: Callable[..., RunningTurn] = RunningTurn,
    handoff: SessionHandoff | None = None,
) -> RunningTurn:
    """A turn in `mode`. Its calls are recorded under the lease, and `approver` answers its approval requests."""
    recorder = TurnRecorder(dependencies.sessions, lease, turn_id, handoff)
    own = context.derive(
        session_id=lease.session_id,
        turn_id=turn_id,
        recorder=recorder,
        todos=dependencies.sessions.todos(lease),
        approver=None if approver is None else AskAfterStoring(approver, recorder.store_message),
        agents=agents,
    )
    if own.loaded_tools is not None and own.skills is not None and own.skills.all():
        own.loaded_tools.add(SKILL_TOOL)  # the prompt names the skills, so the tool that reads them is offered
    toolset = dependencies.registry.toolset(mode, own)
    turn = kind(dependencies, lease, turn_id, mode, toolset, recorder, emit, compactor)
    turn.handoff = handoff
    turn.live = live_output
    turn.is_fresh = handoff is not None  # the permissions were read together with the handoff
    if live_output:
        toolset.context.on_output = turn.show_output
    return turn


@contextlib.asynccontextmanager
async def watched(
    sessions: SessionStore, lease: Lease, turn: RunningTurn, turn_id: str, seconds: float
) -> AsyncIterator[None]:
    """Renews the lease. Stops the turn if another process asks for it or has claimed the session."""
    watcher = asyncio.get_running_loop().create_task(_watch(sessions, lease, turn, turn_id, seconds))
    try:
        yield
    finally:
        watcher.cancel()


async def _watch(sessions: SessionStore, lease: Lease, turn: RunningTurn, turn_id: str, seconds: float) -> None:
    left = seconds / 3
    while True:
        pause = min(_POLL_SECONDS, left)
        await asyncio.sleep(pause)
        left -= pause
        try:
            row = await sessions.turn(turn_id)
            if row is not None and row.cancel_requested_at is not None:
                turn.stop()
            if left <= 0:
                await sessions.renew(lease, seconds)
                left = seconds / 3
        except SessionFenced:
            turn.stop()
            return
        except ToolgateError as error:
            left = max(left, _POLL_SECONDS)
            logger("agent").warning("lease_not_renewed", session_id=lease.session_id, error=type(error).__name__)
