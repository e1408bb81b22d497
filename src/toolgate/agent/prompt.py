"""`PromptBuilder`: the system prompt, in layers. The texts are in `prompts/`."""

from __future__ import annotations

import functools
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from toolgate.agent.deferred import deferred_tools, short_line
from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.runtime.registry import ToolRegistry
from toolgate.tools.names import SKILL_TOOL
from toolgate.tools.text import load_text
from toolgate.workspace.user_folders import require_plain

if TYPE_CHECKING:
    from toolgate.agent.definition import Agents
    from toolgate.protocol.ports import Clock, MemoryStore, SkillStore
    from toolgate.settings import Settings
    from toolgate.workspace import Workspace

PLAN_TOOL = "propose_plan"
NOTES_FILE = "AGENTS.md"
_MAX_NOTES_BYTES = 16_384
"""Bytes of the project's notes that are included."""
_MAX_SKILLS = 4_000
"""Characters of the list of skills."""
_RECENT = 10
_MAX_NOTE = 300


@runtime_checkable
class RecentNotes(Protocol):
    """A memory that can list its latest notes."""

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        """The latest notes, newest first."""
        ...


@functools.cache
def _text(name: str) -> str:
    return load_text(str(Path(__file__).parent / "prompts" / f"{name}.md"))


class PromptBuilder:
    """Builds the prompt from its layers: identity, tooling, safety, workspace, memory, date."""

    def __init__(
        self,
        registry: ToolRegistry,
        settings: Settings | None = None,
        *,
        workspace: Workspace | None = None,
        memory: MemoryStore | None = None,
        agents: Agents | None = None,
        skills: SkillStore | None = None,
        identity: str | None = None,
        clock: Clock = time,
    ) -> None:
        """`identity` replaces the first layer, which says who the model is; sub-agents have their own."""
        self._registry = registry
        self._settings = settings
        self._workspace = workspace
        self._memory = memory
        self._agents = agents
        self._skills = skills
        self._identity = identity
        self._clock = clock

    async def build(self, session_id: str, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> str:
        """The whole prompt for a session in `mode`; `approval_mode` is what its person wants to be asked about."""
        layers = [
            self._identity or _text("identity"),
            self._layer_tooling(mode, approval_mode),
            self._layer_safety(mode),
            self._layer_approvals(mode, approval_mode),
            self._layer_agents(mode, approval_mode),
            self._layer_skills(mode, approval_mode),
            self._layer_extra(),
            self._layer_workspace(),
            await self._layer_memory(mode, approval_mode),
            self._layer_date(),
        ]
        return "\n\n".join(layer for layer in layers if layer)

    def _layer_tooling(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> str:
        """The names of exactly the tools in the schema, which describes them, and lines about the deferred ones."""
        tools = self._registry.list_declarations(mode, approval_mode)
        deferred = deferred_tools(tools)
        names = [tool.name for tool in tools if tool not in deferred]
        if not names:
            return _text("tooling_none")
        listed = "\n".join(f"- {name}" for name in names)
        if deferred:
            listed = "\n".join([listed, "", _text("tooling_deferred"), "", *map(short_line, deferred)])
        return f"{_text('tooling')}\n\n{listed}"

    def _layer_safety(self, mode: ToolMode) -> str:
        """The mode, its restrictions, and what counts as data."""
        words = _text(f"safety_{mode.value}")
        if mode is ToolMode.chat_safe:
            opened = self._settings is not None and self._settings.session.coding_enabled
            words = f"{words} {_text('stage_open' if opened else 'stage_closed')}"
        return f"{_text('safety').format(mode=mode.value, restrictions=words)}"

    def _layer_approvals(self, mode: ToolMode, approval_mode: ApprovalMode) -> str:
        """In plan mode, what that means and how the model ends it; empty in other modes."""
        if approval_mode is not ApprovalMode.plan:
            return ""
        ending = "plan_tool" if self._registry.check_mode(PLAN_TOOL, mode, approval_mode) else "plan_answer"
        commands = _text("plan_commands") if self._registry.check_mode("Bash", mode, approval_mode) else ""
        return " ".join(text for text in (_text("plan"), commands, _text(ending)) if text)

    def _layer_agents(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> str:
        if self._agents is None or not self._registry.check_mode("task", mode, approval_mode):
            return ""
        listed = "\n".join(f"- {agent.name}: {agent.description}" for agent in self._agents.all())
        return f"{_text('agents')}\n\n{listed}"

    def _layer_skills(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> str:
        """Names and descriptions of the skills, bounded; their bodies are read on demand."""
        if self._skills is None or not self._registry.check_mode(SKILL_TOOL, mode, approval_mode):
            return ""
        lines, left = list[str](), _MAX_SKILLS
        found = self._skills.all()
        for skill in found:
            words = skill.description
            words = words if len(words) <= _MAX_NOTE else f"{words[:_MAX_NOTE]} …"
            lines.append(f"- {skill.name}{' (project)' if skill.source == 'project' else ''}: {words}")
            left -= len(lines[-1])
            if left < 0:
                lines[-1] = f"- and {len(found) - len(lines) + 1} more: `skill` without a name lists them"
                break
        return f"{_text('skills')}\n\n" + "\n".join(lines) if lines else ""

    def _layer_extra(self) -> str:
        """The further directories that may be read, if there are any."""
        extra = () if self._workspace is None else self._workspace.extra
        return f"{_text('extra')} {', '.join(str(directory.root) for directory in extra)}" if extra else ""

    def _layer_workspace(self) -> str:
        """The project's own notes for agents, if there are any."""
        if self._workspace is None:
            return ""
        try:
            with self._workspace.open_file(NOTES_FILE) as file:
                require_plain(self._workspace, NOTES_FILE)
                content = os.pread(file.fd, _MAX_NOTES_BYTES + 1, 0)
        except ToolError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                logger("agent").warning("project_notes_unreadable", path=NOTES_FILE, reason=error.message)
            return ""
        notes = content[:_MAX_NOTES_BYTES].decode("utf-8", "replace").replace("\0", "").strip()
        cut = "\n\n[The rest was left out; read the file if you need it.]" if len(content) > _MAX_NOTES_BYTES else ""
        return f"{_text('workspace')}\n\n{notes}{cut}" if notes else ""

    async def _layer_memory(self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask) -> str:
        """The latest notes, if the session may search them."""
        memory: object = self._memory
        if not isinstance(memory, RecentNotes) or not self._registry.check_mode("memory_search", mode, approval_mode):
            return ""
        try:
            notes = await memory.recent(_RECENT)
        except Exception as error:  # noqa: BLE001 - a conversation without its notes is better than none
            logger("agent").warning("memory_unreadable", error=type(error).__name__)
            return ""
        lines = [" ".join(str(note.get("content", "")).split())[:_MAX_NOTE] for note in notes]
        listed = "\n".join(f"- {line}" for line in lines if line)
        return f"{_text('memory')}\n\n{listed}" if listed else ""

    def _layer_date(self) -> str:
        """The date without the time: the prompt stays the same all day, so that a provider can cache it."""
        return _text("date").format(date=datetime.fromtimestamp(self._clock.time(), UTC).date().isoformat())
