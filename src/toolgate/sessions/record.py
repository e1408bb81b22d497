"""Reads everything about a session: messages, calls, approvals and events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.sessions import ApprovalRow, CallRow, Event, Session, SessionStore, Turn

_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session with its complete log."""

    session: Session
    turns: list[Turn]
    calls: list[CallRow]
    approvals: list[ApprovalRow]
    events: list[Event]
    """The whole log."""

    @property
    def conversation(self) -> list[Event]:
        """The log without events that a rewind has removed from the conversation."""
        return conversation(self.events)

    def document(self) -> dict[str, Any]:
        """Return everything as plain data."""
        rows: dict[str, Any] = {"session": self.session.model_dump(mode="json")}
        for name in ("turns", "calls", "approvals", "events"):
            rows[name] = [row.model_dump(mode="json") for row in getattr(self, name)]
        return rows


def conversation(events: Iterable[Event]) -> list[Event]:
    """The events without those that a rewind has removed from the conversation; each rewind itself stays."""
    kept: list[Event] = []
    for event in events:
        if event.kind == "rewound":
            to_seq = event.payload["to_seq"]
            turn = next((one.turn_id for one in kept if one.seq == to_seq), None)
            kept = [one for one in kept if one.seq < to_seq and (turn is None or one.turn_id != turn)]
        kept.append(event)
    return kept


async def read_record(sessions: SessionStore, session: Session) -> SessionRecord:
    """Read everything about a session."""
    turns = await repaired_turns(sessions, session)
    events = await read_events(sessions, session.id)
    return SessionRecord(
        session=session,
        turns=turns,
        calls=await sessions.calls(session.id),
        approvals=await sessions.approvals(session.id),
        events=events,
    )


async def read_events(sessions: SessionStore, session_id: str) -> list[Event]:
    """Read the whole log of a session."""
    events: list[Event] = []
    while batch := await sessions.events(session_id, events[-1].seq if events else 0, limit=_BATCH):
        events += batch
    return events


async def repaired_turns(sessions: SessionStore, session: Session) -> list[Turn]:
    """Return the turns of a session after repairing what a crash left. A running turn stays running."""
    turns = await sessions.turns(session.id)
    if any(turn.status == "running" for turn in turns) and await sessions.settle(session.id):
        turns = await sessions.turns(session.id)
    return turns
