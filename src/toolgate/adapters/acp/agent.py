"""The agent as an editor drives it: sessions, prompts, cancelling, and earlier conversations."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from acp import PROTOCOL_VERSION
from acp.exceptions import RequestError
from acp.helpers import ContentBlock, update_available_commands
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandInput,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    UnstructuredCommandInput,
    Usage,
    UsageUpdate,
)

from toolgate.adapters.acp.approvals import EditorApprover
from toolgate.adapters.acp.content import UnusableContent, prompt_pictures, prompt_text
from toolgate.adapters.acp.options import MODEL, modes, options
from toolgate.adapters.acp.pictures import checked_pictures, stored_pictures
from toolgate.adapters.acp.updates import Updates, replay
from toolgate.agent.events import TurnDone, TurnFailed
from toolgate.errors import SessionBusy, SessionNotFound, ToolgateError
from toolgate.log import logger
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.sessions.ancestors import top_session

if TYPE_CHECKING:
    from acp.interfaces import Client

    from toolgate.agent import AgentLoop
    from toolgate.models.source import ModelSource
    from toolgate.protocol.ports import Approver
    from toolgate.sessions import Session, SessionStore
    from toolgate.settings import Settings


class Project(Protocol):
    """An opened project: what `toolgate.compose.assemble` yields."""

    settings: Settings
    models: ModelSource
    user: str
    project: str

    @property
    def loop(self) -> AgentLoop:
        """The agent."""
        ...

    @property
    def sessions(self) -> SessionStore:
        """The sessions of the project."""
        ...


OpenProject = Callable[[Path, "Approver"], AbstractAsyncContextManager[Project]]
"""Opens a project for an editor that has its directory open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A project that is open, and its directory."""

    root: Path
    project: Project


class EditorAgent:
    """One connection to an editor. Projects are opened when the editor names their directory, and closed with it."""

    def __init__(self, open_project: OpenProject, mode: ToolMode) -> None:
        self._open_project = open_project
        self._mode = mode
        self._closing = AsyncExitStack()
        self._client: Client | None = None
        self._capabilities = ClientCapabilities()
        self._projects: dict[Path, _Open] = {}
        self._sessions: dict[str, _Open] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> EditorAgent:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    def on_connect(self, conn: Client) -> None:
        """Keep the connection."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Say what this agent can do."""
        self._capabilities = client_capabilities or ClientCapabilities()
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(), resume=SessionResumeCapabilities()
                ),
            ),
            agent_info=Implementation(name="toolgate", title="Toolgate", version=version("toolgate")),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> NewSessionResponse:
        """Begin a session in a directory."""
        opened = await self._project(cwd)
        if mcp_servers:
            logger("acp").warning("editor_servers_ignored", servers=len(mcp_servers))
        with _refusals():
            session = await opened.project.sessions.create(
                self._mode, user=opened.project.user, project=opened.project.project
            )
        self._sessions[session.id] = opened
        self._show_commands(session.id, opened)
        return NewSessionResponse(
            session_id=session.id,
            modes=modes(session.approval_mode),
            config_options=list(await options(session, opened.project.models)),
        )

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Continue a session, and show what was said in it."""
        opened, session = await self._resume(cwd, session_id)
        with _refusals():
            messages = await opened.project.sessions.messages(session_id)
        for message in messages:
            with _refusals():
                pictures = await stored_pictures(opened.project.sessions, session_id, message.images)
            for update in replay(opened.root, message, pictures):
                await self._show(session_id, update)
        return LoadSessionResponse(
            modes=modes(session.approval_mode), config_options=list(await options(session, opened.project.models))
        )

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        """Continue a session that the editor still shows."""
        opened, session = await self._resume(cwd, session_id)
        return ResumeSessionResponse(
            modes=modes(session.approval_mode), config_options=list(await options(session, opened.project.models))
        )

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Switch the approval mode: the person's choice at the editor. The tool mode of a session never changes."""
        opened = self._open_session(session_id)
        if mode_id not in {mode.value for mode in ApprovalMode}:
            raise _invalid(f"there is no mode '{mode_id}': choose ask, accept_edits or plan")
        with _refusals():
            await opened.project.sessions.switch_approval_mode(session_id, ApprovalMode(mode_id))
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Choose the model from the next turn on."""
        opened = self._open_session(session_id)
        if config_id != MODEL or not isinstance(value, str):
            raise _invalid(f"there is no option '{config_id}'")
        with _refusals():
            opened.project.models.find(value)  # raises if it cannot be used here
            await opened.project.sessions.set_model(session_id, value)
            session = await opened.project.sessions.get(session_id)
        found = await options(session, opened.project.models)
        return SetSessionConfigOptionResponse(config_options=list(found))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the sessions of a directory, or of all directories that are open."""
        if cwd is not None:
            await self._project(cwd)
        chosen = [opened for root, opened in self._projects.items() if cwd is None or root == _directory(cwd)]
        rows = [
            SessionInfo(
                session_id=session.id,
                cwd=str(opened.root),
                title=session.title or None,
                updated_at=_updated_at(session),
            )
            for opened in chosen
            for session in await opened.project.sessions.list(user=opened.project.user, limit=200)
            if session.project == opened.project.project and session.parent_id is None
        ]
        return ListSessionsResponse(sessions=rows)

    async def prompt(self, session_id: str, prompt: list[ContentBlock], **_: Any) -> PromptResponse:
        """Run one turn, and show it while it runs."""
        opened = self._open_session(session_id)
        try:
            text, images = prompt_text(prompt), await checked_pictures(prompt_pictures(prompt))
        except UnusableContent as error:
            raise _invalid(str(error)) from None
        if not text.strip() and not images:
            raise _invalid("the prompt has no text")
        updates = Updates(opened.root, terminals=self._shows_terminals)
        outcome: TurnDone | TurnFailed | None = None
        with _refusals():
            async for event in opened.project.loop.handle_message(session_id, text, images=images):
                for update in updates.of(event):
                    await self._show(session_id, update)
                if isinstance(event, TurnDone | TurnFailed):
                    outcome = event
        if isinstance(outcome, TurnFailed) and outcome.code == "CANCELLED":
            return PromptResponse(stop_reason="cancelled")
        if not isinstance(outcome, TurnDone):
            reason = outcome.message if outcome is not None else "the turn has ended without a result"
            raise RequestError(-32603, reason, {"code": outcome.code if outcome is not None else "INTERNAL_ERROR"})
        await self._show_usage(session_id, opened, outcome)
        used = outcome.usage
        total = used.input_tokens + used.output_tokens
        usage = Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens, total_tokens=total)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the turn that runs."""
        if session_id in self._sessions:
            await self._sessions[session_id].project.loop.cancel(session_id)

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Refuse: there is nothing to sign in to."""
        raise _invalid("this agent has no sign-in: set a model key as docs/models.md says")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse extensions."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore extensions."""

    @property
    def _shows_terminals(self) -> bool:
        """Whether the editor shows the output of an agent's own commands as a terminal."""
        return (self._capabilities.field_meta or {}).get("terminal_output") is True

    async def _project(self, cwd: str) -> _Open:
        root = _directory(cwd)
        if root not in self._projects:
            approver = EditorApprover(self._connection, root, lambda session_id: self._top_session(root, session_id))
            with _refusals():
                project = await self._closing.enter_async_context(self._open_project(root, approver))
            self._projects[root] = _Open(root=root, project=project)
        return self._projects[root]

    async def _resume(self, cwd: str, session_id: str) -> tuple[_Open, Session]:
        """Return a session that is continued, and its project. A session of another project does not exist."""
        opened = await self._project(cwd)
        try:
            session = await opened.project.sessions.get(session_id)
        except SessionNotFound:
            session = None
        if session is None or session.project != opened.project.project or session.user != opened.project.user:
            raise _invalid(f"there is no session '{session_id}' in {cwd}")
        self._sessions[session_id] = opened
        self._show_commands(session_id, opened)
        return opened, session

    def _open_session(self, session_id: str) -> _Open:
        if session_id not in self._sessions:
            raise _invalid("the session is not open here: create it with session/new, or load it")
        return self._sessions[session_id]

    def _connection(self) -> Client:
        assert self._client is not None
        return self._client

    async def _top_session(self, root: Path, session_id: str) -> str:
        return await top_session(self._projects[root].project.sessions, session_id)

    async def _show(self, session_id: str, update: Any) -> None:
        await self._connection().session_update(session_id=session_id, update=update)

    def _show_commands(self, session_id: str, opened: _Open) -> None:
        """Tell the editor the slash commands from files, after the answer that tells it the session."""
        found = [
            AvailableCommand(
                name=command.name,
                description=command.description,
                input=AvailableCommandInput(root=UnstructuredCommandInput(hint=command.hint or "arguments")),
            )
            for command in opened.project.loop.commands.all()
        ]
        if found:
            task = asyncio.get_running_loop().create_task(self._show(session_id, update_available_commands(found)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _show_usage(self, session_id: str, opened: _Open, outcome: TurnDone) -> None:
        limit = opened.project.settings.agent.context_tokens
        update = UsageUpdate(session_update="usage_update", used=outcome.context_tokens, size=limit)
        await self._show(session_id, update)


def _directory(cwd: str) -> Path:
    root = Path(cwd)
    if not root.is_absolute() or not root.is_dir():
        raise _invalid(f"cwd must be the absolute path of a directory that exists, not '{cwd}'")
    return root.resolve()


def _updated_at(session: Session) -> str:
    return datetime.datetime.fromtimestamp(session.updated_at, datetime.UTC).isoformat()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn expected errors into answers that say what is wrong."""
    try:
        yield
    except SessionBusy:
        raise _invalid("a turn of this session is running: wait for it or cancel it") from None
    except ToolgateError as error:
        raise RequestError(-32603, str(error)) from None


def _invalid(message: str) -> RequestError:
    return RequestError(-32602, message)
