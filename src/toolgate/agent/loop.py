"""`AgentLoop`: takes a person's message, returns events, and stores everything."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.agent.assembly import watched
from toolgate.agent.calls import as_dict
from toolgate.agent.compaction import check_message, tokens_of
from toolgate.agent.compaction_turn import CompactionTurn
from toolgate.agent.context_factory import ContextFactory
from toolgate.agent.context_limits import ContextLimits
from toolgate.agent.deferred import OfferedTools
from toolgate.agent.definition import AgentDefinition, Agents
from toolgate.agent.dependencies import TurnDependencies
from toolgate.agent.pictures import sees_pictures
from toolgate.agent.prompt import PromptBuilder
from toolgate.agent.reply import FIRST_WAIT
from toolgate.agent.session_models import SessionModels
from toolgate.agent.stream import TurnStream
from toolgate.agent.turn import RunningTurn
from toolgate.agent.turn_factory import TurnFactory
from toolgate.agent.turn_result import STORE_ERROR, finish_turn, last_event, run_turn
from toolgate.agent.typed_turn import TypedTurn, typed_command
from toolgate.agent.unstored import UnstoredResult, UnstoredResults
from toolgate.models.base import ModelClient
from toolgate.models.source import ModelSource
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.closing import AsyncClosing
from toolgate.protocol.content import ImageContent, Picture, StoredImage
from toolgate.protocol.jsontext import encode
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.ports import MemoryStore
from toolgate.runtime.policy_source import path_rules_of
from toolgate.runtime.registry import ToolRegistry
from toolgate.sessions import SessionStore
from toolgate.text.redaction import mask, secrets_of
from toolgate.tools.approver import AnyApprover, approver_of
from toolgate.tools.context import ToolContext, checked_policy, checked_settings, checked_workspace, protect_own_files
from toolgate.workspace.own_commands import OwnCommands
from toolgate.workspace.skills import Skills

if TYPE_CHECKING:
    from toolgate.agent.session_slots import SessionSlot
    from toolgate.runtime.policy import Policy
    from toolgate.sessions.types import StartedTurn
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace


class AgentLoop(AsyncClosing):
    """Runs turns: one at a time per session, any number of sessions at the same time.

    Close it with `aclose`, or use it with `async with`.
    """

    def __init__(
        self,
        model: ModelClient | ModelSource,
        registry: ToolRegistry,
        sessions: SessionStore,
        prompt: PromptBuilder | None = None,
        workspace: Workspace | None = None,
        approver: AnyApprover | None = None,
        *,
        settings: Settings | None = None,
        policy: Policy | None = None,
        memory: MemoryStore | None = None,
        agents: Iterable[AgentDefinition] = (),
        models: Callable[[str], ModelClient] | None = None,
        live_output: bool = False,
        first_wait: float = FIRST_WAIT,
        project: str | None = None,
        remembers_for_project: bool = False,
        nested_output: bool = False,
    ) -> None:
        """`settings=None` means the defaults; the environment is not read. `policy` adds the program's own rules to
        those of the user's and the project's files. `agents` are sub-agents beside the built-in and the project's own,
        and `models` finds the model that a sub-agent or a session names; a `ModelSource` finds them itself, and
        its default can be replaced while the loop runs. `live_output` adds `ToolOutput`, `ModelRetry` and `Activity`
        events. `project` is the project that the sessions belong to: what a person has allowed in another project is
        ignored here. `remembers_for_project` lets a person have rules written to the user's own policy file. With
        `nested_output`, the activity of a sub-agent is shown as live output of the call that started it.
        """
        _check_parts(model, registry, sessions)
        if settings is None:
            from toolgate.settings import Settings

            settings = _with_coding_of(sessions, Settings.defaults())
        self._settings = settings = checked_settings(settings)
        self._secrets = secrets_of(settings)
        workspace = checked_workspace(workspace)
        if workspace is not None:
            protect_own_files(workspace, settings)
            workspace.path_rules = path_rules_of(workspace, settings, checked_policy(policy))
        self._project = project
        definitions = Agents(workspace, agents)
        skills = Skills(workspace, settings.user_directory)
        self._contexts = ContextFactory(
            settings=settings,
            workspace=workspace,
            approver=approver_of(approver),
            policy=checked_policy(policy),
            memory=memory,
            skills=skills,
            remembers_for_project=remembers_for_project,
        )
        self._models = SessionModels(model, models, self._secrets)
        self.commands = OwnCommands(workspace, settings.user_directory)
        """The slash commands of the user and the project. A message that is such a command is replaced by its text."""
        prompt = prompt or PromptBuilder(
            registry, settings, workspace=workspace, memory=memory, agents=definitions, skills=skills
        )
        self._unstored = UnstoredResults(sessions)
        self._dependencies = TurnDependencies(
            sessions=sessions,
            model=self._models.default,
            registry=registry,
            prompt=prompt,
            settings=settings.agent,
            limits=ContextLimits(settings.agent.context_tokens),
            offered=OfferedTools(),
            first_wait=first_wait,
            unstored=self._unstored,
            project=project,
        )
        self.turns = TurnFactory(
            self._dependencies,
            self._contexts,
            self._models,
            definitions,
            live_output=live_output,
            nested_output=nested_output,
        )
        """Builds the turns; a worker resumes those of other processes with it."""
        self._running: dict[str, TurnStream] = {}
        self._sessionless: ToolContext | None = None

    def handle_message(
        self,
        session_id: str,
        content: str,
        *,
        request_id: str | None = None,
        rewind_to: int | None = None,
        images: Sequence[ImageContent | StoredImage] = (),
    ) -> TurnStream:
        """Start a turn, and iterate over its events.

        `images` are pictures of the message: with their bytes, or as the session has stored them. A model that takes
        only text reads their names.

        With `rewind_to`, the message takes the place of the person's message with that number, and everything after
        that leaves the transcript; `NoSuchMessage` if the transcript has no such message.

        `request_id` is the client's own id for the message, unique in the session. If it was used before, even by
        another process or before a crash, the turn is not started again and `RequestRepeated` is raised. The first
        `anext` may also raise `SessionBusy` if a turn of this session runs already, `SessionNotFound`,
        `MessageTooLarge`, `PolicyError` and `StoreError`. After that, everything that happens is an event.
        """
        return TurnStream(lambda stream: self._run(stream, session_id, content, request_id, rewind_to, images=images))

    def compact(self, session_id: str, *, request_id: str | None = None) -> TurnStream:
        """Let the model summarise the conversation, and iterate over the events; raises like `handle_message`."""
        return TurnStream(lambda stream: self._run(stream, session_id, None, request_id))

    def run_command(self, session_id: str, command: str) -> TurnStream:
        """Run a command that a person has typed, in the session's shell, and iterate over its events.

        It passes the same gates as a model's call and is recorded. The model reads it in the next turn.
        """
        typed = typed_command(command)
        return TurnStream(lambda stream: self._run(stream, session_id, f"!{command}", None, None, typed))

    async def cancel(self, session_id: str) -> bool:
        """End the turn of a session, in this process or another one; return whether there was one.

        A turn of this process has ended when this returns.
        """
        stream = self._running.get(session_id)
        if stream is None:
            return await self._dependencies.sessions.request_cancel(session_id)
        stream.cancel()
        await stream.wait()
        return True

    @property
    def sessions(self) -> SessionStore:
        """The store of this loop's sessions."""
        return self._dependencies.sessions

    @property
    def unstored_sessions(self) -> Sequence[str]:
        """The sessions whose last turn has ended in this process, but whose end is not stored yet."""
        return self._unstored.session_ids

    async def aclose(self) -> None:
        """End all running turns and all shells."""
        streams = list(self._running.values())
        for stream in streams:
            stream.cancel()
        for stream in streams:
            await stream.wait()
        await self._unstored.aclose()
        await self.turns.slots.aclose()
        if self._sessionless is not None:
            await self._sessionless.aclose()

    async def _run(
        self,
        stream: TurnStream,
        session_id: str,
        content: str | None,
        request_id: str | None,
        rewind_to: int | None = None,
        typed: ToolCall | None = None,
        images: Sequence[ImageContent | StoredImage] = (),
    ) -> None:
        """Claim the session, run one turn, and store its result. Without `content`, the turn is a compaction."""
        sessions = self._dependencies.sessions
        await self._unstored.store(session_id)
        if content is not None and typed is None and content.lstrip().startswith("/"):
            content = await asyncio.to_thread(self.commands.expand, content)
        lease_seconds = self._settings.agent.lease_seconds
        self.turns.slots.check_policy(session_id)
        text = None if content is None else mask(content, self._secrets)
        message = {"content": text, "images": images}
        if text is not None and 4 * tokens_of(message) > self._settings.agent.context_tokens // 4:
            await self._check_size(session_id, text, images)
        options: dict[str, Any] = {"images": images} if images else {}  # third-party stores may not accept it
        started = await sessions.claim_and_start(
            session_id,
            text,
            ttl=lease_seconds,
            request_id=request_id,
            project=self._project,
            rewind_to=rewind_to,
            **options,
        )
        lease, turn_id = started.lease, started.turn.id
        kind: Callable[..., RunningTurn] = CompactionTurn if text is None else RunningTurn
        if typed is not None:
            kind = functools.partial(TypedTurn, typed)
        slot, turn = await self._prepare(started, session_id, stream, kind)
        self._running[session_id] = stream
        stream.run(turn.stop)
        try:
            async with watched(sessions, lease, turn, turn_id, lease_seconds):
                result = await run_turn(turn)
            result = await finish_turn(sessions, lease, turn_id, result, slot.handoff)
            if result.code == STORE_ERROR:
                entries, handoff = turn.unstored, slot.handoff
                self._unstored.keep(
                    UnstoredResult(lease=lease, turn_id=turn_id, result=result, entries=entries, handoff=handoff)
                )
        finally:
            slot.taken = False
            del self._running[session_id]
        stream.emit(last_event(result, turn, turn_id))
        if result.cause is not None:
            raise result.cause

    async def _prepare(
        self, started: StartedTurn, session_id: str, stream: TurnStream, kind: Callable[..., RunningTurn]
    ) -> tuple[SessionSlot, RunningTurn]:
        """Take the session's slot and make its turn. If that fails, the turn is stored as cancelled."""
        sessions, lease, turn_id = self._dependencies.sessions, started.lease, started.turn.id
        try:
            mode = await sessions.get_mode(session_id)
            slot = await self.turns.slots.take(session_id)
            await slot.recall(started.stored_handoff)
            return slot, self.turns.new(slot, lease, turn_id, mode, stream, started.model, kind)
        except BaseException:
            await sessions.finish_turn(lease, turn_id, "cancelled", code="CANCELLED", release=True)
            raise

    async def _check_size(self, session_id: str, text: str, images: Sequence[Picture]) -> None:
        """Refuse a message that the session's model cannot take, before it is stored."""
        sessions, registry = self._dependencies.sessions, self._dependencies.registry
        session = await sessions.get(session_id)
        model = self._models.of_session(session.model)
        limit = self._dependencies.limits.of(model)
        prompt = await self._dependencies.prompt.build(session_id, session.mode)
        spent = tokens_of({"content": prompt}) + self._dependencies.offered.of(registry, (session.mode,))[1]
        check_message(text, limit - spent, images if sees_pictures(model) else ())

    async def _execute_tool(
        self, name: str, arguments: str | dict[str, Any], *, mode: ToolMode, call_id: str
    ) -> dict[str, Any]:
        """Run one call outside of any session, through the same gates, and return the result as a plain object."""
        if self._sessionless is None:
            self._sessionless = self._contexts.context(None)
        text = arguments if isinstance(arguments, str) else encode(arguments)
        toolset = self._dependencies.registry.toolset(mode, self._sessionless)
        return as_dict(name, await toolset.handle(ToolCall(id=call_id, name=name, arguments=text)))


def _with_coding_of(sessions: SessionStore, settings: Settings) -> Settings:
    """Default settings, with `coding` enabled if the session store has it enabled."""
    enabled = {"coding_enabled": getattr(sessions, "coding_enabled", False) is True}
    return settings.model_copy(update={"session": settings.session.model_copy(update=enabled)})


def _check_parts(model: object, registry: object, sessions: object) -> None:
    """Raise `TypeError` for an argument of the wrong type, instead of failing in the middle of a turn."""
    if not isinstance(model, ModelSource) and not hasattr(model, "stream"):
        raise TypeError(f"model must be a client with stream, not {model!r:.80}: write choose_model(name)")
    if not isinstance(registry, ToolRegistry):
        raise TypeError(f"registry must be a ToolRegistry, not {registry!r:.80}: write builtin_registry()")
    if not hasattr(sessions, "append_message"):
        raise TypeError(f"sessions must be a store of sessions, not {sessions!r:.80}: write InMemorySessions()")
