"""`ToolContext`: everything that a tool may use, handed over explicitly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.protocol.modes import ToolMode

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.protocol.ports import AgentRunner, Approver, MemoryStore, Recorder, TodoStore
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace


class ToolContext:
    """The ports and the workspace of one session.

    `settings=None` means the defaults; the environment is not read.
    """

    def __init__(
        self,
        workspace: Workspace | None = None,
        mode: ToolMode = ToolMode.chat_safe,
        session_id: str | None = None,
        approver: Approver | None = None,
        settings: Settings | None = None,
        shell: Any | None = None,
        memory: MemoryStore | None = None,
        todos: TodoStore | None = None,
        agents: AgentRunner | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.workspace = workspace
        self.mode = mode
        self.session_id = session_id
        self.approver = approver
        self.memory = memory
        self.todos = todos
        self.agents = agents
        self.recorder = recorder
        self.agent = ""
        """The sub-agent that this context belongs to; empty for the main one."""
        self.call_id = ""
        """The call that is being handled."""
        self.plan: Plan | None = None
        """What `prepare` returned for the call that is being handled."""
        self._settings = settings
        self._shell = shell
        self._shared: dict[str, Any] = {}
        """State of the session that every copy of this context shares."""

    @property
    def settings(self) -> Settings:
        """The settings of this context."""
        if self._settings is None:
            from toolgate.settings import Settings

            self._settings = Settings.defaults()
        return self._settings
