"""`ContextFactory`: makes the contexts that the tools of a loop's sessions run in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.protocol.ports import Approver, MemoryStore
    from toolgate.runtime.policy import Policy
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace
    from toolgate.workspace.skills import Skills


class ContextFactory(NamedTuple):
    """What all contexts of one loop have in common."""

    settings: Settings
    workspace: Workspace | None
    approver: Approver | None
    policy: Policy | None
    memory: MemoryStore | None
    skills: Skills
    remembers_for_project: bool

    def context(self, session_id: str | None, owner: str | None = None) -> ToolContext:
        """A new context for a session; `owner` is the session that its outputs belong to, if it is another one."""
        workspace = self.workspace
        if workspace is not None and owner is not None:
            workspace = workspace.for_session(self.settings.tool_output.dir, owner)
        context = ToolContext(
            workspace=workspace,
            session_id=session_id,
            approver=self.approver,
            settings=self.settings,
            memory=self.memory,
            policy=self.policy,
        )
        context.remembers_for_project = self.remembers_for_project
        context.loaded_tools = set()
        context.skills = self.skills
        return context
