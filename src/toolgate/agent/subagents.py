"""Sub-agents: each does a task with some of its parent's tools, in its own session and its own shell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from toolgate.agent.assembly import assemble_turn, watched
from toolgate.agent.background_tasks import BackgroundTasks
from toolgate.agent.compaction import Compactor
from toolgate.agent.definition import AgentDefinition, Agents
from toolgate.agent.dependencies import TurnDependencies
from toolgate.agent.earlier_tasks import agent_of, stored_state, task_session
from toolgate.agent.events import AgentEvent
from toolgate.agent.nested_output import nested
from toolgate.agent.prompt import PromptBuilder
from toolgate.agent.turn import RunningTurn
from toolgate.agent.turn_result import STORE_ERROR, TurnResult, finish_turn, run_turn
from toolgate.agent.unstored import UnstoredResult
from toolgate.errors import ModelError, SessionError, StoreError, ToolError
from toolgate.models.base import ModelClient
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.ports import Approver
from toolgate.runtime.registry import ToolRegistry
from toolgate.sessions import Lease, Session
from toolgate.sessions.approvals import PLAN_TOOL
from toolgate.tools.context import ToolContext

OnSession = Callable[[str], None]
"""Called with the id of a sub-agent's session as soon as the session exists."""
MAX_RUNNING = 8
"""Sub-agents of one turn that run at the same time; the others wait."""


class SubAgentDependencies(NamedTuple):
    """What all sub-agents of a session work with."""

    dependencies: TurnDependencies
    agents: Agents
    models: Callable[[str], ModelClient] | None
    new_context: Callable[[str | None], ToolContext]
    """Creates a context with its own shell."""


class SubAgents:
    """The `AgentRunner` of one turn. A failure of a sub-agent is the answer to the call that started it."""

    def __init__(
        self,
        shared: SubAgentDependencies,
        lease: Lease,
        turn_id: str,
        mode: ToolMode,
        registry: ToolRegistry,
        approver: Approver | None,
        depth: int = 0,
    ) -> None:
        self._shared = shared
        self._lease = lease
        self._turn_id = turn_id
        self._mode = mode
        self._registry = registry
        self._approver = approver
        self._depth = depth
        self._started = 0
        self._slots = asyncio.Semaphore(MAX_RUNNING)
        self.background = BackgroundTasks()
        self.listener: Callable[[AgentEvent], None] | None = None
        """Receives the activity of sub-agents, as live output of the calls that started them."""
        self.watcher: Callable[[str, AgentEvent], None] | None = None
        """Receives the events of sub-agents, with the ids of their sessions."""

    async def run(self, agent: str, prompt: str, description: str) -> dict[str, Any]:
        """Run one sub-agent to its end; return its answer and what it used."""
        return await self.run_for("", agent, prompt, description)

    async def run_for(self, call_id: str, agent: str, prompt: str, description: str) -> dict[str, Any]:
        """The same for a call: the log says which call the sub-agent belongs to."""
        return await self._run(call_id, agent, prompt, description)

    async def start_for(
        self, call_id: str, agent: str, prompt: str, description: str, task_id: str = ""
    ) -> dict[str, Any]:
        """Start or resume a sub-agent that runs in the background, until the turn ends at the latest."""
        started: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_session(session_id: str) -> None:
            if not started.done():
                started.set_result(session_id)

        task = self.background.start(self._run(call_id, agent, prompt, description, task_id, on_session))
        try:
            both: list[asyncio.Future[Any]] = [started, task]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not started.done():  # it could not be started: the task raises the reason
            return await task
        self.background.keep(started.result(), task)
        return {"task_id": started.result(), "running": True}

    async def resume_for(self, call_id: str, task_id: str, prompt: str) -> dict[str, Any]:
        """Send another message to a sub-agent that has ended. It has its earlier conversation."""
        return await self._run(call_id, "", prompt, "", task_id)

    async def state_of(self, task_id: str) -> dict[str, Any]:
        """The state of a task: that it runs, or its answer. A failure is raised, as by `run`."""
        task = self.background.get(task_id)
        if task is not None and task.done():
            self.background.mark_reported(task_id)
            return await task
        sessions = self._shared.dependencies.sessions
        session = await task_session(sessions, self._lease.session_id, task_id)
        return await stored_state(sessions, session, running=task is not None)

    async def _run(
        self,
        call_id: str,
        agent: str,
        prompt: str,
        description: str,
        task_id: str = "",
        on_session: OnSession = lambda _: None,
    ) -> dict[str, Any]:
        if task_id:
            sessions = self._shared.dependencies.sessions
            session = await task_session(sessions, self._lease.session_id, task_id)
            agent = await agent_of(sessions, session)
        definition = self._admitted(agent)
        model = self._model(definition)
        limit = self._shared.dependencies.settings.child_timeout
        async with self._slots:
            try:
                async with asyncio.timeout(limit):
                    if task_id:
                        return await self._resumed(definition, model, prompt, call_id, session, on_session)
                    return await self._child(definition, model, prompt, description, call_id, on_session)
            except TimeoutError:
                raise ToolError(
                    ErrorCode.TIMEOUT,
                    f"Sub-agent '{agent}' did not finish within {limit:g} s.",
                    "Give it a smaller piece of work, or do it yourself.",
                ) from None
            except (SessionError, StoreError) as error:
                raise ToolError(
                    ErrorCode.EXECUTION_ERROR,
                    f"Sub-agent '{agent}' could not be started: {error}",
                    "Try again in a moment, or do the work yourself.",
                ) from error

    def _admitted(self, name: str) -> AgentDefinition:
        settings = self._shared.dependencies.settings
        definition = self._shared.agents.get(name)
        if definition is None:
            known = ", ".join(agent.name for agent in self._shared.agents.all())
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"Unknown agent {name[:80]!r}; the known ones are: {known}.",
                "Use one of them.",
            )
        if self._depth >= settings.max_depth:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"The depth limit of {settings.max_depth} is reached: this agent cannot start sub-agents.",
                "Do the work yourself, step by step.",
            )
        if self._started >= settings.max_children:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"The fan-out limit is reached: a turn starts at most {settings.max_children} sub-agents.",
                "Do the rest yourself.",
            )
        self._started += 1
        return definition

    def _model(self, definition: AgentDefinition) -> ModelClient:
        if definition.model is None:
            return self._shared.dependencies.model
        try:
            if self._shared.models is not None:
                return self._shared.models(definition.model)
            reason = "no other models are set up"
        except ModelError as error:
            reason = error.message
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"Sub-agent '{definition.name}' wants the model {definition.model!r}: {reason}",
            "Use another sub-agent.",
        )

    async def _child(
        self,
        definition: AgentDefinition,
        model: ModelClient,
        prompt: str,
        description: str,
        call_id: str,
        on_session: OnSession,
    ) -> dict[str, Any]:
        session = await self._session(definition, description, call_id)
        return await self._turn_in(session, definition, model, prompt, call_id, on_session)

    async def _resumed(
        self,
        definition: AgentDefinition,
        model: ModelClient,
        prompt: str,
        call_id: str,
        session: Session,
        on_session: OnSession,
    ) -> dict[str, Any]:
        """Another turn in the session of an earlier task, in this process."""
        await self._note_start(definition, session.id, session.title, call_id)
        return await self._turn_in(session, definition, model, prompt, call_id, on_session)

    async def _turn_in(
        self,
        session: Session,
        definition: AgentDefinition,
        model: ModelClient,
        prompt: str,
        call_id: str,
        on_session: OnSession,
    ) -> dict[str, Any]:
        sessions = self._shared.dependencies.sessions
        seconds = self._shared.dependencies.settings.lease_seconds
        lease = await sessions.try_claim(session.id, seconds)
        if lease is None:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"The task {session.id} still runs.",
                "Ask for its state with its id alone, and resume it when it has ended.",
            )
        on_session(session.id)
        started = await sessions.start_turn(lease, prompt, parent_id=self._turn_id)
        context = self._shared.new_context(session.id)
        context.agent = definition.name
        turn = self._assemble(definition, model, context, lease, started.id, call_id=call_id)
        try:
            async with watched(sessions, lease, turn, started.id, seconds):
                result = await _to_its_end(turn)
            result = await finish_turn(sessions, lease, started.id, result)
            if result.code == STORE_ERROR and self._shared.dependencies.unstored is not None:
                self._shared.dependencies.unstored.keep(
                    UnstoredResult(lease=lease, turn_id=started.id, result=result, entries=turn.unstored)
                )
        finally:
            await context.aclose()
        if result.cause is not None:
            raise result.cause
        return {**_answer(definition.name, turn, result), "task_id": session.id}

    async def _session(self, definition: AgentDefinition, description: str, call_id: str) -> Session:
        """Create the sub-agent's session, for the same user and project, and note it in its parent's log."""
        sessions = self._shared.dependencies.sessions
        parent = await sessions.get(self._lease.session_id)
        session = await sessions.create(
            self._mode,
            title=description or definition.name,
            user=parent.user,
            project=parent.project,
            parent_id=parent.id,
            model=parent.model,
            approval_mode=parent.approval_mode,
        )
        await self._note_start(definition, session.id, description, call_id)
        return session

    async def _note_start(self, definition: AgentDefinition, session_id: str, description: str, call_id: str) -> None:
        """Note in the parent's log which call has started the sub-agent."""
        payload = {"call_id": call_id, "agent": definition.name, "session_id": session_id, "description": description}
        await self._shared.dependencies.sessions.append_event(
            self._lease, "agent_started", payload, turn_id=self._turn_id
        )

    def turn_of(
        self, agent: str, context: ToolContext, lease: Lease, turn_id: str, kind: type[RunningTurn]
    ) -> RunningTurn:
        """The turn of a sub-agent whose session exists already."""
        definition = self._admitted(agent)
        context.agent = definition.name
        return self._assemble(definition, self._model(definition), context, lease, turn_id, kind)

    def _assemble(
        self,
        definition: AgentDefinition,
        model: ModelClient,
        context: ToolContext,
        lease: Lease,
        turn_id: str,
        kind: type[RunningTurn] = RunningTurn,
        call_id: str = "",
    ) -> RunningTurn:
        """A turn with those of the parent's tools that the definition names."""
        shared = self._shared
        names = self._registry.names() if definition.tools is None else definition.tools
        names = [name for name in names if name != PLAN_TOOL]  # only the agent that a person talks to proposes a plan
        view = self._registry.filter(names)
        prompt = PromptBuilder(
            view, context.settings, workspace=context.workspace, identity=definition.prompt, agents=shared.agents
        )
        dependencies = shared.dependencies._replace(model=model, registry=view, prompt=prompt)
        shared = shared._replace(dependencies=dependencies)
        children = SubAgents(shared, lease, turn_id, self._mode, view, self._approver, self._depth + 1)
        children.watcher = self.watcher
        compactor = Compactor(dependencies.limits.of(model))
        return assemble_turn(
            dependencies,
            context,
            lease,
            turn_id,
            self._mode,
            emit=self._emit_of(lease.session_id, call_id, definition.name),
            compactor=compactor,
            approver=self._approver,
            agents=children,
            live_output=self.listener is not None or self.watcher is not None,
            kind=kind,
        )

    def _emit_of(self, session_id: str, call_id: str, agent: str) -> Callable[[AgentEvent], None]:
        """The function that receives the events of a sub-agent."""
        show, watcher = nested(call_id, agent, self.listener), self.watcher
        if watcher is None:
            return show

        def emit(event: AgentEvent) -> None:
            show(event)
            watcher(session_id, event)

        return emit


async def _to_its_end(turn: RunningTurn) -> TurnResult:
    """Run a sub-agent's turn in its own task: if the parent is cancelled, the turn ends properly first."""
    task = asyncio.get_running_loop().create_task(run_turn(turn))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as error:
        turn.stop()
        return (await task)._replace(cause=error)


def _answer(name: str, turn: RunningTurn, result: TurnResult) -> dict[str, Any]:
    summary = [
        {"tool": tool, "calls": count, "errors": turn.counters.errors[tool]}
        for tool, count in turn.counters.calls.items()
    ]
    if result.status != "done":
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"Sub-agent '{name}' failed: {result.message}",
            "Do the work yourself, or try again with a smaller piece of it.",
            data={"tool_summary": summary},
        )
    if not turn.text.strip():
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"Sub-agent '{name}' ended without an answer.",
            "Do the work yourself, or ask it for something more definite.",
            data={"tool_summary": summary},
        )
    return {"result": turn.text, "tool_summary": summary}
