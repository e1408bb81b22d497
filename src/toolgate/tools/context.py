"""`ToolContext`: everything that a tool may use, handed over explicitly."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.closing import AsyncClosing
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.modes import AnyMode, ApprovalMode, ToolMode
from toolgate.system import is_linux, linux_only
from toolgate.tools.approver import approver_of
from toolgate.tools.modes import mode_of
from toolgate.tools.session_state import SessionState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Literal

    from toolgate.diagnostics.diagnostics import Diagnostics
    from toolgate.protocol.approval import Approval
    from toolgate.protocol.calls import ToolDefinition
    from toolgate.protocol.plan import Plan
    from toolgate.protocol.ports import AgentRunner, Approver, Clock, MemoryStore, Recorder, SkillStore, TodoStore
    from toolgate.runtime.policy import Policy
    from toolgate.settings import Settings
    from toolgate.shell import ShellSession
    from toolgate.tools.approver import AnyApprover
    from toolgate.web.fetch import Fetcher
    from toolgate.web.search import WebSearch
    from toolgate.workspace import Workspace
    from toolgate.workspace.extra_directories import ExtraGuard
    from toolgate.workspace.file_guard import FileGuard


class ToolContext(AsyncClosing):
    """The ports and the workspace of one session.

    `settings=None` means the defaults; the environment is not read. `policy` adds the program's own rules to those of
    the user's and the project's files: the strictest wins. Close it with `aclose`, or use it with `async with`.
    """

    def __init__(
        self,
        workspace: Workspace | None = None,
        mode: AnyMode = ToolMode.chat_safe,
        session_id: str | None = None,
        approver: AnyApprover | None = None,
        settings: Settings | None = None,
        shell: ShellSession | None = None,
        memory: MemoryStore | None = None,
        todos: TodoStore | None = None,
        agents: AgentRunner | None = None,
        recorder: Recorder | None = None,
        *,
        approval_mode: ApprovalMode = ApprovalMode.ask,
        policy: Policy | None = None,
    ) -> None:
        self.mode = mode_of(mode)
        self.session_id = _checked_id(session_id)
        self.approver: Approver | None = approver_of(approver)
        self.policy = checked_policy(policy)
        """The program's own rules; `toolgate.runtime.policy_source` adds those of the files."""
        self.memory = memory
        self.todos = todos
        self.agents = agents
        self.recorder = recorder
        self.clock: Clock = time
        self.agent = ""
        """The sub-agent that this context belongs to; empty for the main one."""
        self.turn_id = ""
        """The turn that the calls belong to; the journal groups by it."""
        self.call_id = ""
        """The call that is being handled."""
        self.plan: Plan | None = None
        """What `prepare` returned for the call that is being handled."""
        self.approved = False
        """Whether a person has allowed that plan, now or earlier in the session."""
        self.approval: Approval | None = None
        """The person's answer about the call that is being handled; None if nobody was asked."""
        self.refresh_permissions: Callable[[], Awaitable[None]] | None = None
        """Reads the approval mode and the permissions from the session's store again; None without a store."""
        self.remembers_for_project = False
        """Whether a person may have a rule written to the user's own policy file, for this project."""
        self.visible_tools: Callable[[], list[ToolDefinition]] | None = None
        """The tools that the caller of the current call may use."""
        self.skills: SkillStore | None = None
        """The skills of the user and the project; None: there are none to be read."""
        self.loaded_tools: set[str] | None = None
        """The deferred tools that the model has loaded. None: the caller is offered every schema at once."""
        self.on_output: Callable[[Literal["stdout", "stderr"], str], None] | None = None
        """Called with what a command prints while it runs."""
        self.extra_guard: ExtraGuard | None = None
        """Set in a context that reads a further directory (`for_path`): it judges that directory's files."""
        self.cancelled_data: dict[str, Any] = {}
        """The `data` of the answer `CANCELLED`, if the call is cancelled: what it had printed, for example."""
        self.has_settings = settings is not None
        """Whether settings were passed in. Otherwise these are the defaults, without the user's policy."""
        self._settings = None if settings is None else checked_settings(settings)
        workspace = checked_workspace(workspace)
        if workspace is not None and self._settings is not None:
            if self._settings.workspace.extra:
                from toolgate.workspace.extra_directories import open_extra

                open_extra(workspace, self._settings.workspace.extra)
            protect_own_files(workspace, self._settings)
        if workspace is not None and session_id is not None:
            workspace = workspace.for_session(self.settings.tool_output.dir, session_id)
        self.workspace = workspace
        self.state = SessionState(shell)
        """State of the session that every copy of this context shares."""
        self.approval_mode = approval_mode
        self._owns_shell = shell is None

    @property
    def approval_mode(self) -> ApprovalMode:
        """What the person wants to be asked about. Every copy of this context has the same.

        Set it from what a person chose, never from what a model says.
        """
        return self.state.approval_mode

    @approval_mode.setter
    def approval_mode(self, approval_mode: ApprovalMode) -> None:
        if not isinstance(approval_mode, ApprovalMode):
            raise TypeError(f"approval_mode must be an ApprovalMode, not {approval_mode!r}")
        self.state.approval_mode = approval_mode

    @property
    def settings(self) -> Settings:
        """The settings of this context."""
        if self._settings is None:
            from toolgate.settings import Settings

            self._settings = Settings.defaults()
        return self._settings

    @property
    def shell(self) -> ShellSession:
        """The session's shell, made on first use."""
        session = self.state.shell
        if session is None:
            from toolgate.shell import ShellSession

            workspace = self.require_workspace()
            session = self.state.shell = ShellSession(workspace, settings=self.settings, guard=self.guard)
        return session

    @property
    def guard(self) -> FileGuard:
        """Judges which files of the workspace may be shown."""
        if self.extra_guard is not None:
            return self.extra_guard
        guard = self.state.guard
        if guard is None:
            from toolgate.workspace.file_guard import NO_RULES, FileGuard

            state, workspace = self.state, self.require_workspace()
            guard = FileGuard(workspace, lambda: NO_RULES if state.path_rules is None else state.path_rules())
            state.guard = guard
        return guard

    @property
    def diagnostics(self) -> Diagnostics | None:
        """Runs checkers after edits; None unless the operator has configured some."""
        settings, state = self.settings, self.state
        wanted = settings.diagnostics.checkers or settings.diagnostics.command
        if state.diagnostics is None and wanted and self.workspace is not None:
            from toolgate.diagnostics.diagnostics import Diagnostics

            state.diagnostics = Diagnostics(self.workspace, settings, self.guard)
        return state.diagnostics

    @property
    def web(self) -> Fetcher | None:
        """Fetches public pages for this session; None unless the operator has turned it on."""
        settings, state = self.settings.web, self.state
        if state.web is None and settings.fetch:
            from toolgate.web.fetch import Fetcher

            state.web = Fetcher(most_bytes=settings.max_kb << 10, seconds=settings.timeout)
        return state.web

    @property
    def web_search(self) -> WebSearch | None:
        """Searches the web; None unless the operator has configured a provider."""
        settings, state = self.settings.web, self.state
        if state.web_search is None and settings.search is not None:
            from toolgate.web.search import WebSearch

            key = settings.search_key.get_secret_value() if settings.search_key is not None else ""
            state.web_search = WebSearch(settings.search, key=key, address=settings.search_url or "")
        return state.web_search

    def require_workspace(self) -> Workspace:
        """The workspace, or the failure of every tool that needs one: there is none, or its directory is gone."""
        if self.workspace is None:
            if not is_linux():
                raise ToolError(ErrorCode.EXECUTION_ERROR, linux_only("Working on files and commands"))
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                "This session has no workspace.",
                "File tools need one: the application has to pass ToolContext(workspace=Workspace(root)).",
            )
        self.workspace.require_present()
        return self.workspace

    def for_path(self, path: str) -> ToolContext:
        """The context for reading a path: that of the further directory that contains it, else this one.

        Only for tools that read: nothing may be written with it.
        """
        if path.startswith("/") and self.workspace is not None and self.workspace.extra:
            for guard in self.guard.extra:
                if guard.directory.holds(path):
                    guard.directory.require_present()
                    return self.derive(workspace=guard.directory, extra_guard=guard)
        return self

    @property
    def shell_directory(self) -> str:
        """The shell's directory. While there is no shell, that is the root: this does not make one."""
        session = self.state.shell
        return "." if session is None else session.cwd

    def derive(self, **changes: Any) -> ToolContext:
        """A copy with other attributes that shares the session's state."""
        copy = object.__new__(ToolContext)
        copy.__dict__ = {**self.__dict__, **changes}
        return copy

    async def aclose(self) -> None:
        """End the shell that was made here; one that was passed in is left to its owner."""
        diagnostics, self.state.diagnostics = self.state.diagnostics, None
        if diagnostics is not None:
            await diagnostics.aclose()
        session = self.state.shell
        if self._owns_shell and session is not None:
            self.state.shell = None
            await session.close()


def checked_policy(policy: object) -> Policy | None:
    """Return the program's own policy, or None. Raises `TypeError` for everything else."""
    if policy is None:
        return None
    from toolgate.runtime.policy import Policy

    if not isinstance(policy, Policy):
        raise TypeError(
            f"policy must be a toolgate.Policy, not {type(policy).__name__}: "
            'write Policy.of(Rule(tool="Bash", words=("git", "push"), decision="deny"))'
        )
    return policy


def checked_settings(settings: object) -> Settings:
    """The settings, validated: a copy that was made without validation may hold anything."""
    from toolgate.settings import Settings

    if not isinstance(settings, Settings):
        raise TypeError(
            f"settings must be a toolgate.settings.Settings, not {type(settings).__name__}: "
            'write Settings.load(), or Settings.of(workspace={"root": "."})'
        )
    return settings.checked()


def checked_workspace(workspace: Workspace | None) -> Workspace | None:
    """Return the workspace. Raises `TypeError` for the path of one."""
    if isinstance(workspace, str | os.PathLike):
        raise TypeError(f"workspace must be a toolgate.Workspace, not a path: write Workspace({str(workspace)!r})")
    return workspace


def protect_own_files(workspace: Workspace, settings: Settings) -> None:
    """Keep tools from writing and reading the runtime's own files that lie in the project or have a name there."""
    from toolgate.settings.own_files import own_files, unread_files

    for place in (workspace, *workspace.extra):
        place.protect_own(own_files(settings, workspace.root), unread_files(settings, workspace.root))


def _checked_id(session_id: object) -> str | None:
    if session_id is not None and not isinstance(session_id, str):
        raise TypeError(f"session_id must be text, not {session_id!r:.80}")
    return session_id
