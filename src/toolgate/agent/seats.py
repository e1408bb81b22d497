"""What the sessions of a loop keep from turn to turn: a context with its shell, and what was compacted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolgate.agent.compaction import Compactor
from toolgate.tools.context import ToolContext

MOST = 64
"""Sessions whose shells are kept; the one that was longest idle gives way."""


@dataclass(slots=True, kw_only=True)
class Seat:
    """What one session keeps."""

    context: ToolContext
    compactor: Compactor
    taken: bool = False


class Seats:
    """The seats of a loop, the latest used last."""

    def __init__(self, make: Callable[[str], Seat]) -> None:
        self._make = make
        self._seats: dict[str, Seat] = {}

    async def take(self, session_id: str) -> Seat:
        """The seat of a session, for one turn."""
        seat = self._seats.pop(session_id, None) or self._make(session_id)
        seat.taken = True
        self._seats[session_id] = seat
        await self._make_room()
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
