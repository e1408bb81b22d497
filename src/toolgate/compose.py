"""The composition root: connects settings, ports and implementations, and leaves out tools whose port is missing.

Lives here: `toolgate.open`, the stack of a chat or gateway, and the stack of a worker.
May touch: every room below the gateway; this is where they are put together.
Start reading: `open`, then `assemble`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate.errors import ConfigError
from toolgate.protocol.modes import AnyMode, ApprovalMode, ToolMode
from toolgate.protocol.ports import Approver, Recorder, WorkspaceProvider
from toolgate.runtime.builtin import agent_registry
from toolgate.runtime.own_tools import add_tools, only_named
from toolgate.runtime.policy_source import check_users_policy
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.toolset import CallableToolset
from toolgate.settings import Settings
from toolgate.tools.approver import approver_of
from toolgate.tools.context import ToolContext, checked_policy, checked_settings, protect_own_files
from toolgate.tools.modes import approval_mode_of, mode_of
from toolgate.userfiles import users_data, users_servers
from toolgate.workspace import Workspace
from toolgate.workspace.skills import Skills
from toolgate.workspace.unsupported import UnsupportedWorkspace, open_root

if TYPE_CHECKING:
    from toolgate.agent import AgentLoop
    from toolgate.distributed.worker import Worker, WorkspaceRuntime
    from toolgate.models import ModelClient
    from toolgate.models.source import ModelSource
    from toolgate.runtime.policy import Policy
    from toolgate.sessions import Database, Lease, Memory, SessionManager
    from toolgate.tools.approver import AnyApprover
    from toolgate.tools.base import CallableTool, Tool


@contextlib.asynccontextmanager
async def open(  # noqa: A001 - `toolgate.open(".")` reads like what it does
    root: str | os.PathLike[str] = ".",
    mode: AnyMode = ToolMode.chat_safe,
    approver: AnyApprover | None = None,
    settings: Settings | None = None,
    *,
    tools: Iterable[Tool[Any] | CallableTool] = (),
    only: Iterable[str] | None = None,
    policy: Policy | None = None,
    session_id: str | None = None,
    recorder: Recorder | None = None,
    approval_mode: ApprovalMode | str = ApprovalMode.ask,
    remembers_for_project: bool = False,
) -> AsyncIterator[CallableToolset]:
    """Open the built-in tools on a project, for as long as the block lasts.

    `settings=None` reads the environment and the user's config file (`Settings.load()`); so the user's policy file
    counts. `tools` are added to the built-in ones, and `only` names those that are used. `policy` adds the program's
    own rules to those of the user's and the project's files; the strictest wins. `session_id` names the session in
    approval requests, records and the journal. With `remembers_for_project` the approver may have rules written to the
    user's own policy file. An invalid argument raises before anything is opened.
    """
    settings = checked_settings(settings) if settings is not None else Settings.load()
    mode, approval_mode = mode_of(mode), approval_mode_of(approval_mode)
    registry = agent_registry(settings)
    add_tools(registry, tools)
    registry = only_named(registry, only)
    approver, policy = approver_of(approver), checked_policy(policy)
    workspace = Workspace(root)
    try:
        async with ToolContext(
            workspace=workspace,
            mode=mode,
            session_id=session_id,
            approver=approver,
            settings=settings,
            recorder=recorder,
            approval_mode=approval_mode,
            policy=policy,
        ) as context:
            context.remembers_for_project = remembers_for_project
            context.skills = Skills(workspace, settings.user_directory)
            yield available_tools(registry, context).toolset(mode, context)
    finally:
        workspace.close()


def available_tools(registry: ToolRegistry, context: ToolContext) -> ToolRegistry:
    """The tools whose ports the context has."""
    return registry.with_ports_of(context)


@dataclass(slots=True, kw_only=True)
class Stack:
    """Everything that a surface with sessions works with."""

    settings: Settings
    """With a complete model, so that its key is masked everywhere."""
    workspace: Workspace
    database: Database
    """Migrated."""
    sessions: SessionManager
    models: ModelSource
    registry: ToolRegistry
    approver: Approver | None
    live_output: bool
    user: str
    """The user of sessions that are created without naming one."""
    project: str
    """What sessions and notes of this workspace are filed under."""
    remembers_for_project: bool = False
    """Whether a person may have rules written to the user's own policy file, for this project."""
    nested_output: bool = False
    """Whether the activity of a sub-agent is live output of the call that started it."""
    _loops: dict[str, AgentLoop] = field(default_factory=dict)
    _own: dict[str, Workspace] = field(default_factory=dict)
    """The workspaces of sessions that have a directory of their own and run a turn."""

    @property
    def model(self) -> ModelClient:
        """The default model."""
        return self.models.default

    @property
    def memory(self) -> Memory:
        """The user's notes in this project."""
        return self.memory_of(self.user)

    @property
    def loop(self) -> AgentLoop:
        """The user's agent."""
        return self.loop_of(self.user)

    def memory_of(self, user: str) -> Memory:
        """The notes of one user in this project."""
        from toolgate.sessions import Memory

        return Memory(self.database, user=user, project=self.project)

    async def workspace_of(self, session_id: str) -> Workspace:
        """The workspace as a session and its sub-agents see it: the outputs of other sessions are not in it."""
        from toolgate.sessions.ancestors import top_session

        owner = await top_session(self.sessions, session_id)
        workspace = self._own.get(owner, self.workspace)
        return workspace.for_session(self.settings.tool_output.dir, owner)

    @contextlib.asynccontextmanager
    async def own_workspace(self, workspaces: WorkspaceProvider, lease: Lease) -> AsyncIterator[Workspace]:
        """The workspace of a session that has a directory of its own, for as long as the block lasts."""
        workspace = Workspace(await workspaces.restore(lease))
        self._own[lease.session_id] = workspace
        ended = False
        try:
            yield workspace
            ended = True
        finally:
            if self._own.get(lease.session_id) is workspace:
                del self._own[lease.session_id]
            workspace.close()
            await workspaces.release(lease, ended=ended)

    def loop_of(self, user: str) -> AgentLoop:
        """The agent of one user: it has that user's notes. Made on first use."""
        loop = self._loops.get(user)
        if loop is None:
            loop = self._loops[user] = self.new_loop(
                user, None if isinstance(self.workspace, UnsupportedWorkspace) else self.workspace
            )
        return loop

    def new_loop(self, user: str, workspace: Workspace | None) -> AgentLoop:
        """An agent of one user in a workspace."""
        from toolgate.agent import AgentLoop

        return AgentLoop(
            self.models,
            self.registry,
            self.sessions,
            workspace=workspace,
            approver=self.approver,
            settings=self.settings,
            memory=self.memory_of(user),
            live_output=self.live_output,
            project=self.project,
            remembers_for_project=self.remembers_for_project,
            nested_output=self.nested_output,
        )

    async def aclose(self) -> None:
        """End the turns and the shells of every user."""
        for loop in self._loops.values():
            await loop.aclose()


@contextlib.asynccontextmanager
async def assemble(
    settings: Settings | None = None,
    *,
    model: ModelClient | None = None,
    registry: ToolRegistry | None = None,
    tools: Iterable[Tool[Any] | CallableTool] = (),
    approver: Approver | None = None,
    user: str = "",
    live_output: bool = False,
    project: str | None = None,
    remembers_for_project: bool = False,
    nested_output: bool = False,
) -> AsyncIterator[Stack]:
    """Sessions, a model and the tools on the project that the settings name, for as long as the block lasts.

    `settings=None` reads them. Without a `model` the settings and the environment choose one (`settings_with_model`).
    `tools` are added to the built-in ones and those of the user's MCP servers; with a `registry` there are no others.
    Without a `project` sessions and notes are filed under the path of the root. With `remembers_for_project` a person
    may have rules written to the user's own policy file; pass it only if the person who answers is that user.
    """
    from toolgate.models.source import ModelSource
    from toolgate.sessions import Database, SessionManager

    settings = settings.checked() if settings is not None else Settings()
    if model is None:
        settings = settings_with_model(settings)
    check_users_policy(settings.policy_file)
    async with contextlib.AsyncExitStack() as closing:
        workspace = open_root(settings.workspace.root)
        closing.callback(workspace.close)
        if settings.workspace.extra:
            from toolgate.workspace.extra_directories import open_extra

            open_extra(workspace, settings.workspace.extra)
        protect_own_files(workspace, settings)  # also from the people who look at files before the first turn
        database = Database(settings.database.address)
        closing.push_async_callback(database.close)
        await database.migrate()
        stack = Stack(
            settings=settings,
            workspace=workspace,
            database=database,
            sessions=SessionManager(database, settings.session),
            models=ModelSource(settings.model, model, os.environ),
            registry=registry
            if registry is not None
            else await closing.enter_async_context(_tools(settings, workspace, tools)),
            approver=approver,
            live_output=live_output,
            user=user,
            project=project or str(workspace.root),
            remembers_for_project=remembers_for_project,
            nested_output=nested_output,
        )
        closing.push_async_callback(stack.aclose)
        yield stack


@contextlib.asynccontextmanager
async def _tools(
    settings: Settings, workspace: Workspace, more: Iterable[Tool[Any] | CallableTool]
) -> AsyncIterator[ToolRegistry]:
    """The built-in tools, more tools, and those of the MCP servers that the user has configured."""
    registry = agent_registry(settings)
    if isinstance(workspace, UnsupportedWorkspace):
        _remove_file_tools(registry)
    add_tools(registry, more)
    servers = settings.mcp_config
    if servers is None or (servers == users_servers(os.environ) and not os.path.exists(servers)):
        yield registry
        return
    from toolgate.adapters.mcp_client.configured import connect_configured

    async with connect_configured(registry, settings, str(workspace.root)):
        yield registry


def _remove_file_tools(registry: ToolRegistry) -> None:
    """Keep only the tools that need neither files nor commands: those of chat mode, and sub-agents."""
    kept = {tool.name for tool in registry.list_tools(ToolMode.chat_safe)} | {"task"}
    for name in set(registry.names()) - kept:
        registry.unregister(name)


def settings_with_model(settings: Settings, name: str | None = None) -> Settings:
    """Settings with a complete model: the one that is named, else that of the settings, else one whose key is set."""
    from toolgate.models import model_settings

    return settings.model_copy(update={"model": model_settings(name, settings.model, os.environ)})


def workspace_runtime(stack: Stack, workspaces: WorkspaceProvider | None = None) -> WorkspaceRuntime:
    """The runtime with which a worker runs the turns of this stack. Full outputs go to the database, for gateways.

    With `workspaces`, each session has a directory of its own, which moves with it.
    """
    from toolgate.distributed.worker import WorkspaceRuntime
    from toolgate.sessions.outputs import WorkerSessions

    stack.sessions = WorkerSessions(stack.database, stack.settings, stack.workspace_of, workspaces)

    @contextlib.asynccontextmanager
    async def agent_of(user: str, lease: Lease) -> AsyncIterator[AgentLoop]:
        if workspaces is None:
            yield stack.loop_of(user)
            return
        async with stack.own_workspace(workspaces, lease) as workspace:
            loop = stack.new_loop(user, workspace)
            try:
                yield loop
            finally:
                await loop.aclose()

    root = str(stack.workspace.root) if workspaces is None else ""
    return WorkspaceRuntime(db=stack.database, agent_of=agent_of, directory=root, shared=workspaces is None)


def _workspaces(stack: Stack, name: str) -> WorkspaceProvider | None:
    """The provider of a directory per session; None if all sessions share the root of the workspace."""
    from toolgate.sessions.workspaces import SnapshotWorkspaces

    settings = stack.settings.distributed
    if settings.workspaces == "local":
        return None
    base = settings.workspace_dir or users_data(os.environ, "workspaces")
    if base is None or not base.is_absolute():
        raise ConfigError(["TOOLGATE_DISTRIBUTED_WORKSPACE_DIR: set it to the full path of a directory of the worker"])
    directory = os.path.join(base, hashlib.sha256(name.encode()).hexdigest()[:16])
    root, kind = str(stack.workspace.root), SnapshotWorkspaces
    if settings.workspaces == "git":
        from toolgate.process.git_clone import is_repository
        from toolgate.sessions.git_workspaces import GitWorkspaces

        if not is_repository(root):
            raise ConfigError(
                [f"TOOLGATE_DISTRIBUTED_WORKSPACES=git: {root} is not the top of a git repository. Clone one there"]
            )
        kind = GitWorkspaces
    return kind(stack.database, root, directory, settings.workspace_bytes)


@contextlib.asynccontextmanager
async def running_worker(
    settings: Settings,
    workspaces: Mapping[str, Path],
    *,
    model: ModelClient | None = None,
    registry: ToolRegistry | None = None,
    tools: Iterable[Tool[Any] | CallableTool] = (),
) -> AsyncIterator[Worker]:
    """A worker that runs the turns of these workspaces (name → root), for as long as the block lasts."""
    from toolgate.distributed.options import ClusterOptions
    from toolgate.distributed.worker import Worker

    tools = list(tools)
    async with contextlib.AsyncExitStack() as closing:
        runtimes: dict[str, WorkspaceRuntime] = {}
        for name, root in workspaces.items():
            own = settings.model_copy(update={"workspace": settings.workspace.model_copy(update={"root": root})})
            stack = await closing.enter_async_context(
                assemble(own, model=model, registry=registry, tools=tools, project=name, live_output=True)
            )
            runtimes[name] = workspace_runtime(stack, _workspaces(stack, name))
        worker = Worker(
            next(iter(runtimes.values())).db,
            settings.database.address,
            runtimes,
            ClusterOptions.of(settings),
            approval_timeout=settings.agent.approval_timeout,
        )
        closing.push_async_callback(worker.stop)
        await worker.start()
        yield worker
