"""What the sessions of a loop keep from turn to turn: a context with its shell, and what was compacted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolgate.agent.compaction import Compactor
from toolgate.agent.handoff import Luggage, unpack
from toolgate.runtime.policy_source import check_policy, policy_of
from toolgate.sessions import Past
from toolgate.tools.context import ToolContext

MOST = 64
"""Sessions whose shells are kept; the one that was longest idle gives way."""


@dataclass(slots=True, kw_only=True)
class Seat:
    """What one session keeps."""

    context: ToolContext
    compactor: Compactor
    taken: bool = False
    luggage: Luggage | None = None
    """What the session takes along; None until it is known what it took along before."""
    fence: int = 0
    """That of the last turn which was begun elsewhere and played here."""

    def recall(self, past: Past) -> None:
        """Restore what the session was allowed and had before it was resumed here; once is enough."""
        if self.luggage is None:
            if past.allowed:
                policy_of(self.context).recall(past.allowed)
            unpack(self.context, past.carried)
            self.luggage = Luggage(self.context, past.carried)


class Seats:
    """The seats of a loop, the latest used last."""

    def __init__(self, make: Callable[[str], Seat]) -> None:
        self._make = make
        self._seats: dict[str, Seat] = {}

    def check_policy(self, session_id: str) -> None:
        """Raise `PolicyError` if the session's policy is not valid; nothing is kept or changed for it."""
        check_policy((self._seats.get(session_id) or self._make(session_id)).context)

    async def take(self, session_id: str) -> Seat:
        """The seat of a session, for one turn."""
        seat = self._seats.pop(session_id, None) or self._make(session_id)
        seat.taken = True
        self._seats[session_id] = seat
        await self._make_room()
        return seat

    async def take_up(self, session_id: str, fence: int) -> Seat:
        """The seat for a turn that was begun elsewhere; a new one if others had the session since."""
        known = self._seats.get(session_id)
        if known is not None and known.fence + 1 != fence:
            await self._seats.pop(session_id).context.aclose()
        seat = await self.take(session_id)
        seat.fence = fence
        return seat

    async def _make_room(self) -> None:
        for session_id in list(self._seats)[:-MOST]:
            if not self._seats[session_id].taken:
                await self._seats.pop(session_id).context.aclose()

    async def aclose(self) -> None:
        """End every shell that was made."""
        while self._seats:
            _, seat = self._seats.popitem()
            await seat.context.aclose()
