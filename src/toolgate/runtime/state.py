"""`RuntimeState`: what the call pipeline keeps for a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.runtime.breaker import Breaker
from toolgate.runtime.locks import WriterLock
from toolgate.runtime.unfinished import Unfinished

if TYPE_CHECKING:
    from toolgate.runtime.hooks import Hooks
    from toolgate.runtime.policy import Policy
    from toolgate.tools.context import ToolContext


class RuntimeState:
    """State of the pipeline that every toolset of a session shares."""

    __slots__ = ("breaker", "hooks", "hooks_read", "policy", "policy_stamp", "unfinished", "writers")

    def __init__(self, context: ToolContext) -> None:
        self.policy: Policy | None = None
        """The session's policy, once it was loaded."""
        self.policy_stamp: tuple[int, ...] | None = None
        """What the user's policy file looked like when it was read."""
        self.hooks: Hooks | None = None
        """The user's hooks, once they were read."""
        self.hooks_read = False
        self.breaker = Breaker(context.clock)
        self.writers = WriterLock()
        self.unfinished = Unfinished()


def runtime_state(context: ToolContext) -> RuntimeState:
    """The state of the session that a context belongs to."""
    state = context.state.runtime
    if not isinstance(state, RuntimeState):
        state = context.state.runtime = RuntimeState(context)
    return state
