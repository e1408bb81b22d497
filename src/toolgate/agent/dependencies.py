"""What a turn works with, and what it has used."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDependencies:
    """The objects that a turn works with."""

    sessions: SessionStore
    model: ModelClient
    registry: ToolRegistry
    prompt: PromptBuilder
    settings: AgentSettings
    limits: ContextLimits
    offered: OfferedTools = field(default_factory=OfferedTools)
    first_wait: float = FIRST_WAIT
    ends: UnstoredResults | None = None
    """Stores the ends of turns later; None if another process resumes such a turn instead."""
    project: str | None = None
    """The project that the sessions belong to: what a person has allowed in another one is ignored."""


@dataclass(slots=True)
class Tally:
    """Calls and tokens of a turn."""

    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    context_tokens: int = 0
    context_limit: int = 0
