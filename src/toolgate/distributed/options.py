"""Settings of workers and gateways, in the units that the code uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from toolgate.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How workers and gateways behave. All times are in seconds."""

    slots: int
    """Turns that a worker runs at the same time, per workspace."""
    agent_slots: int
    """Sub-agents that a worker runs at the same time, per workspace."""
    lease: float
    """A worker without a heartbeat for this long is dead; other workers resume its turns."""
    poll: float
    """The time between two polls of a queue without a notification."""
    park: float
    """How long a worker waits for an approval before it parks the turn."""
    drain: float
    """How long a worker that is shutting down waits for its turns; the rest is returned to the queue."""
    user_turns: int
    """Turns of one user that run at the same time; the others wait."""
    user_agents: int
    """Sub-agents of one user that run at the same time; the others wait."""
    queue_length: int
    """The most turns that may wait; further ones are refused."""
    turns_per_minute: int
    """New turns of one user per minute; 0 means no limit."""
    tokens_per_day: int
    """Tokens of one user per day; 0 means no limit."""
    grace: float
    """How long turns are accepted for a workspace after its last worker has gone."""
    retention: float
    """How long whole outputs are kept."""

    @classmethod
    def of(cls, settings: Settings, **changes: Any) -> Self:
        """Options from the settings, with some of them replaced."""
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
