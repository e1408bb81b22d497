"""What the sessions of a loop keep from turn to turn: a context with its shell, and what was compacted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolgate.agent.compaction import Compactor
from toolgate.agent.handoff import SessionHandoff, unpack
from toolgate.runtime.policy_source import check_policy, policy_of
from toolgate.sessions import StoredHandoff
from toolgate.tools.context import ToolContext

MOST = 64
"""Sessions whose shells are kept; the one that was longest idle gives way."""


@dataclass(slots=True, kw_only=True)
class SessionSlot:
    """What one session keeps."""

    context: ToolContext
    compactor: Compactor
    taken: bool = False
    handoff: SessionHandoff | None = None
    """What the session takes along; None until it is known what it took along before."""
    fence: int = 0
    """That of the last turn which was begun elsewhere and played here."""

    def recall(self, stored_handoff: StoredHandoff) -> None:
        """Restore what the session was allowed and had before it was resumed here; once is enough."""
        if self.handoff is None:
            if stored_handoff.allowed:
                policy_of(self.context).recall(stored_handoff.allowed)
            unpack(self.context, stored_handoff.carried)
            self.handoff = SessionHandoff(self.context, stored_handoff.carried)


class SessionSlots:
    """The seats of a loop, the latest used last."""

    def __init__(self, make: Callable[[str], SessionSlot]) -> None:
        self._make = make
        self._slots: dict[str, SessionSlot] = {}

    def check_policy(self, session_id: str) -> None:
        """Raise `PolicyError` if the session's policy is not valid; nothing is kept or changed for it."""
        check_policy((self._slots.get(session_id) or self._make(session_id)).context)

    async def take(self, session_id: str) -> SessionSlot:
        """The seat of a session, for one turn."""
        slot = self._slots.pop(session_id, None) or self._make(session_id)
        slot.taken = True
        self._slots[session_id] = slot
        await self._make_room()
        return slot

    async def resume(self, session_id: str, fence: int) -> SessionSlot:
        """The seat for a turn that was begun elsewhere; a new one if others had the session since."""
        known = self._slots.get(session_id)
        if known is not None and known.fence + 1 != fence:
            await self._slots.pop(session_id).context.aclose()
        slot = await self.take(session_id)
        slot.fence = fence
        return slot

    async def _make_room(self) -> None:
        for session_id in list(self._slots)[:-MOST]:
            if not self._slots[session_id].taken:
                await self._slots.pop(session_id).context.aclose()

    async def aclose(self) -> None:
        """End every shell that was made."""
        while self._slots:
            _, slot = self._slots.popitem()
            await slot.context.aclose()
