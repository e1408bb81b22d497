"""What can be set about turns on other machines, in the units that the code uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from toolgate.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How workers and gateways behave, as the settings say. Seconds throughout."""

    slots: int
    """Turns that a worker runs side by side, for each workspace."""
    agent_slots: int
    """Sub-agents that a worker runs side by side, for each workspace."""
    lease: float
    """After this long without a sign of life a worker is dead, and others take its turns over."""
    poll: float
    """Between two looks of a worker into its queues, where nobody has told it to look."""
    park: float
    """How long a worker waits for a person's answer before it puts the turn aside."""
    drain: float
    """How long a worker that was told to end finishes its turns; the rest is handed over."""
    user_turns: int
    """Turns of one user that run at the same time; the others wait."""
    user_agents: int
    """Sub-agents of one user that run at the same time; the others wait."""
    queue_length: int
    """Turns that wait at the most; beyond it new ones are refused."""
    turns_per_minute: int
    """New turns of one user in a minute; 0 is no limit."""
    tokens_per_day: int
    """Tokens of one user in a day; 0 is no limit."""
    grace: float
    """How long turns are accepted for a workspace whose last worker is gone."""
    retention: float
    """How long whole outputs are kept."""

    @classmethod
    def of(cls, settings: Settings, **changes: Any) -> Self:
        """As the settings say, but for the changes."""
        area, limits = settings.distributed, settings.limits
        options = cls(
            slots=area.slots,
            agent_slots=area.agent_slots,
            lease=area.lease_seconds,
            poll=area.poll_seconds,
            park=area.park_seconds,
            drain=area.drain_seconds,
            user_turns=limits.user_turns,
            user_agents=limits.user_agents,
            queue_length=limits.queue_length,
            turns_per_minute=limits.turns_per_minute,
            tokens_per_day=limits.tokens_per_day,
            grace=area.grace_seconds,
            retention=settings.tool_output.retention_days * 86_400.0,
        )
        return replace(options, **changes)
