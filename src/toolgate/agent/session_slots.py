"""`SessionSlots`: what a loop keeps per session between turns: the context with its shell, the compaction state."""

from __future__ import annotations

from collections.abc import Callable

from toolgate.agent import permissions
from toolgate.agent.compaction import Compactor
from toolgate.agent.handoff import SessionHandoff, unpack
from toolgate.runtime.policy_source import check_policy
from toolgate.sessions import StoredHandoff
from toolgate.tools.context import ToolContext

MAX_SESSIONS = 64
"""Sessions that are kept; the one that was idle for longest is closed first."""


class SessionSlot:
    """What is kept for one session."""

    def __init__(self, context: ToolContext, compactor: Compactor) -> None:
        self.context = context
        self.compactor = compactor
        self.taken = False
        self.handoff: SessionHandoff | None = None
        """The state for another process; None until the stored state was restored here."""
        self.fence = 0
        """The fence of the last turn that another process started and this one ran."""

    async def recall(self, stored_handoff: StoredHandoff) -> None:
        """Apply the session's permissions; once, restore its stored state. After a rewind, forget what was removed."""
        permissions.apply(self.context, stored_handoff.permissions)
        if self.handoff is None:
            await unpack(self.context, stored_handoff.handoff_state)
            self.handoff = SessionHandoff(self.context, stored_handoff.handoff_state)
        if self.context.state.rewound_by != stored_handoff.rewound_by:
            self._forget(stored_handoff.rewound_by)

    def _forget(self, rewound_by: int) -> None:
        """Forget what depends on removed messages: the files that the model has read, and the compaction."""
        self.context.state.rewound_by = rewound_by
        self.context.state.seen_files.clear()
        self.compactor.clear()


class SessionSlots:
    """The slots of a loop, in the order of their last use."""

    def __init__(self, make: Callable[[str], SessionSlot]) -> None:
        self._make = make
        self._slots: dict[str, SessionSlot] = {}

    def check_policy(self, session_id: str) -> None:
        """Raise `PolicyError` if the session's policy is not valid; no slot is created or changed."""
        check_policy((self._slots.get(session_id) or self._make(session_id)).context)

    async def take(self, session_id: str) -> SessionSlot:
        """The slot of a session, marked as taken for one turn."""
        slot = self._slots.pop(session_id, None) or self._make(session_id)
        slot.taken = True
        self._slots[session_id] = slot
        await self._make_room()
        return slot

    async def resume(self, session_id: str, fence: int) -> SessionSlot:
        """The slot for a resumed turn; a new one if another process had the session since."""
        known = self._slots.get(session_id)
        if known is not None and known.fence + 1 != fence:
            await self._slots.pop(session_id).context.aclose()
        slot = await self.take(session_id)
        slot.fence = fence
        return slot

    async def _make_room(self) -> None:
        for session_id in list(self._slots)[:-MAX_SESSIONS]:
            if not self._slots[session_id].taken:
                await self._slots.pop(session_id).context.aclose()

    async def aclose(self) -> None:
        """Close all shells."""
        while self._slots:
            _, slot = self._slots.popitem()
            await slot.context.aclose()
