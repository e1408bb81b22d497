"""`TurnDependencies`: the objects that a turn works with. `TurnCounters`: what it has used."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from toolgate.agent.deferred import OfferedTools
from toolgate.agent.reply import FIRST_WAIT

if TYPE_CHECKING:
    from toolgate.agent.context_limits import ContextLimits
    from toolgate.agent.prompt import PromptBuilder
    from toolgate.agent.unstored import UnstoredResults
    from toolgate.models.base import ModelClient
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.sessions import SessionStore
    from toolgate.settings import AgentSettings


class TurnDependencies(NamedTuple):
    """The objects that a turn works with."""

    sessions: SessionStore
    model: ModelClient
    registry: ToolRegistry
    prompt: PromptBuilder
    settings: AgentSettings
    limits: ContextLimits
    offered: OfferedTools
    first_wait: float = FIRST_WAIT
    unstored: UnstoredResults | None = None
    """Stores the ends of turns later; None if another process resumes such a turn instead."""
    project: str | None = None
    """The project that the sessions belong to: what a person has allowed in another one is ignored."""


class TurnCounters:
    """Calls and tokens of a turn."""

    def __init__(self) -> None:
        self.calls = Counter[str]()
        self.errors = Counter[str]()
        self.input_tokens = 0
        self.output_tokens = 0
        self.context_tokens = 0
        self.context_limit = 0
