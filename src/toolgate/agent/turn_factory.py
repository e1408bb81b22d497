"""`TurnFactory`: builds the turns of a loop, new ones and those that another process has started."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING

from toolgate.agent.approvals import DurableApprover
from toolgate.agent.assembly import assemble_turn
from toolgate.agent.compaction import Compactor
from toolgate.agent.resume import ResumedTurn
from toolgate.agent.session_slots import SessionSlot, SessionSlots
from toolgate.agent.subagents import SubAgentDependencies, SubAgents
from toolgate.agent.turn import RunningTurn
from toolgate.runtime.policy_source import check_policy, policy_of
from toolgate.sessions.ancestors import top_session

if TYPE_CHECKING:
    from toolgate.agent.context_factory import ContextFactory
    from toolgate.agent.definition import Agents
    from toolgate.agent.dependencies import TurnDependencies
    from toolgate.agent.events import AgentEvent
    from toolgate.agent.session_models import SessionModels
    from toolgate.agent.stream import TurnStream
    from toolgate.protocol.modes import ToolMode
    from toolgate.protocol.ports import Approver
    from toolgate.sessions import Lease


class TurnFactory:
    """Builds turns from what all turns of a loop share and from what the loop keeps for each session."""

    def __init__(
        self,
        dependencies: TurnDependencies,
        contexts: ContextFactory,
        models: SessionModels,
        agents: Agents,
        *,
        live_output: bool,
        nested_output: bool,
    ) -> None:
        self._dependencies = dependencies
        self._contexts = contexts
        self._models = models
        self._agents = agents
        self._live_output = live_output
        self._nested_output = nested_output
        self.slots = SessionSlots(self._new_slot)
        """What is kept for each session between turns."""

    def new(
        self,
        slot: SessionSlot,
        lease: Lease,
        turn_id: str,
        mode: ToolMode,
        stream: TurnStream,
        model: str = "",
        kind: Callable[..., RunningTurn] = RunningTurn,
    ) -> RunningTurn:
        """A turn that this process has started."""
        dependencies = self._dependencies._replace(model=self._models.of_session(model))
        approver: Approver | None = None
        if self._contexts.approver is not None:
            approver = DurableApprover(
                dependencies.sessions,
                lease,
                turn_id,
                approver=self._contexts.approver,
                emit=stream.emit,
                timeout=dependencies.settings.approval_timeout,
            )
        shared = self._shared(lease.session_id, dependencies)
        agents = SubAgents(shared, lease, turn_id, mode, dependencies.registry, approver)
        agents.listener = stream.emit if self._nested_output else None
        agents.watcher = None if self._nested_output or not self._live_output else stream.emit_of_child
        return assemble_turn(
            dependencies,
            slot.context,
            lease,
            turn_id,
            mode,
            emit=stream.emit,
            compactor=slot.compactor,
            approver=approver,
            agents=agents,
            live_output=self._live_output,
            kind=kind,
            handoff=slot.handoff,
        )

    @contextlib.asynccontextmanager
    async def resume(
        self,
        lease: Lease,
        turn_id: str,
        *,
        emit: Callable[[AgentEvent], None],
        approver: Approver | None,
        subagents: Callable[..., SubAgents] = SubAgents,
        agent: str = "",
        allowed: Iterable[str] = (),
    ) -> AsyncIterator[RunningTurn]:
        """Resume a turn that another process has started. The caller stores its end.

        `subagents` creates the runner of its sub-agents. With `agent` it is the turn of that sub-agent, and `allowed`
        is what a person has allowed for the rest of it. The turn's `handoff` has to be stored with its end.
        """
        # not `get_mode`, which means `chat_safe` while the store is unavailable; here the caller retries
        sessions = self._dependencies.sessions
        session = await sessions.get(lease.session_id)
        mode = session.mode
        dependencies = self._dependencies._replace(model=self._models.of_session(session.model))
        owner = await top_session(sessions, lease.session_id) if agent else lease.session_id
        shared = self._shared(owner, dependencies)
        children = subagents(shared, lease, turn_id, mode, dependencies.registry, approver)
        if agent:
            context = shared.new_context(lease.session_id)
            try:
                policy_of(context).recall(allowed)
                yield children.turn_of(agent, context, lease, turn_id, ResumedTurn)
            finally:
                await context.aclose()
            return
        slot = await self.slots.resume(lease.session_id, lease.fence)
        try:
            check_policy(slot.context)
            await slot.recall(await sessions.stored_handoff(lease.session_id, dependencies.project))
            yield assemble_turn(
                dependencies,
                slot.context,
                lease,
                turn_id,
                mode,
                emit=emit,
                compactor=slot.compactor,
                approver=approver,
                agents=children,
                live_output=self._live_output,
                kind=ResumedTurn,
                handoff=slot.handoff,
            )
        finally:
            slot.taken = False

    def _new_slot(self, session_id: str) -> SessionSlot:
        compactor = Compactor(self._dependencies.settings.context_tokens)
        return SessionSlot(self._contexts.context(session_id), compactor)

    def _shared(self, owner: str, dependencies: TurnDependencies) -> SubAgentDependencies:
        """What the sub-agents of a session share. They can read each other's outputs."""
        return SubAgentDependencies(
            dependencies=dependencies,
            agents=self._agents,
            models=self._models.by_name,
            new_context=functools.partial(self._contexts.context, owner=owner),
        )
