"""Loops for tests: a scripted model, a store in memory, a project."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from toolgate import ToolCall, ToolMode, ToolRegistry, builtin_registry
from toolgate.agent import AgentEvent, AgentLoop
from toolgate.models import ModelClient
from toolgate.sessions import InMemorySessions, SessionManager
from toolgate.settings import AgentSettings, SessionSettings, Settings
from toolgate.testing import ScriptedModel

OPEN = SessionSettings(coding_enabled=True)


def call(name: str, arguments: str | dict[str, Any] = "{}", id: str = "c1") -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id=id, name=name, arguments=text)


def settings_of(**agent: Any) -> Settings:
    return Settings.defaults().model_copy(update={"session": OPEN, "agent": AgentSettings(**agent)})


class Stage:
    """One session and a loop on it."""

    store: ClassVar[SessionManager | None] = None
    """Where sessions are kept, unless a test says so itself; None: in memory."""

    def __init__(self, sessions: SessionManager, session_id: str, loop: AgentLoop, model: Any) -> None:
        self.sessions = sessions
        self.id = session_id
        self.loop = loop
        self.model = model

    @classmethod
    async def set(
        cls,
        turns: Sequence[str | Sequence[object]] | ModelClient = (),
        *tools: Any,
        mode: ToolMode = ToolMode.coding,
        registry: ToolRegistry | None = None,
        agent: dict[str, Any] | None = None,
        sessions: SessionManager | None = None,
        **options: Any,
    ) -> "Stage":
        sessions = sessions or cls.store or InMemorySessions(OPEN)
        session = await sessions.create(mode)
        if registry is None:
            registry = builtin_registry()
            for tool in tools:
                registry.register(tool)
        model = ScriptedModel(turns) if isinstance(turns, Sequence) else turns
        options = {"settings": settings_of(**(agent or {})), "first_wait": 0.0, **options}
        return cls(sessions, session.id, AgentLoop(model, registry, sessions, **options), model)

    async def say(self, content: str = "Hello") -> list[AgentEvent]:
        """One whole turn."""
        return [event async for event in self.loop.handle_message(self.id, content)]

    async def transcript(self) -> list[dict[str, Any]]:
        """What a provider would get."""
        return [message.to_dict() for message in await self.sessions.messages(self.id)]

    async def kinds(self) -> list[str]:
        """What is in the log."""
        return [event.kind for event in await self.sessions.events(self.id)]

    async def close(self) -> None:
        await self.loop.aclose()
        if isinstance(self.sessions, InMemorySessions):
            await self.sessions.close()
