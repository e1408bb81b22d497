"""Adds messages: one alone, or all that arrived at the same time with a few statements."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from toolgate.protocol.content import ImageContent
from toolgate.protocol.record import CallRecord
from toolgate.sessions import calls, handoff, pictures, transcript, turns
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import INSERT, TAKE, VERSION, EventWriter, message_json, publish
from toolgate.sessions.schema import SPAN
from toolgate.sessions.types import Lease, Message, Usage

_MAX_SESSIONS: Final = 500
"""Sessions that are looked up by one statement."""


class Append:
    """The unit that adds one message."""

    __slots__ = ("lease", "message", "plain", "session_id", "turn_id", "usage")

    def __init__(
        self, session_id: str, message: Message, lease: Lease | None, turn_id: str | None, usage: Usage | None
    ) -> None:
        self.session_id = session_id
        self.message = message
        self.lease = lease
        self.turn_id = turn_id
        self.usage = usage
        self.plain = (
            usage is None
            and message.tool_call_id is None
            and not message.tool_calls
            and not message.images
            and (lease is None or lease.session_id == session_id)
        )
        """Whether it only adds a message."""

    def __call__(self, transaction: Transaction) -> int:
        """Add the message and return its number."""
        writer = EventWriter(
            transaction, self.session_id, self.lease, turn_id=self.turn_id, count=1 + len(self.message.tool_calls)
        )
        seq = transcript.write(writer, self.message)
        if self.message.tool_calls:
            calls.propose(writer, self.message.tool_calls)
        if self.usage is not None and self.turn_id is not None:
            turns.store_usage(transaction, self.turn_id, self.usage)
        turns.set_title_from(writer, self.message)
        return seq


def append_all(
    transaction: Transaction,
    lease: Lease,
    entries: Sequence[Message | CallRecord],
    turn_id: str | None,
    handoff_state: str | None = None,
    images: Sequence[ImageContent] = (),
    usage: Usage | None = None,
) -> None:
    """Add messages and records of calls in this order, with their pictures and the state for resuming the session."""
    if not entries:
        return
    proposed = sum(len(entry.tool_calls) for entry in entries if isinstance(entry, Message))
    writer = EventWriter(transaction, lease.session_id, lease, turn_id=turn_id, count=len(entries) + proposed)
    for entry in entries:
        if isinstance(entry, CallRecord):
            calls.record(writer, entry)
        else:
            transcript.write(writer, entry)
            calls.propose(writer, entry.tool_calls)
    if usage is not None and turn_id is not None:
        turns.store_usage(transaction, turn_id, usage)
    pictures.keep(transaction, lease.session_id, images)
    handoff.store(transaction, lease.session_id, handoff_state)


def together(transaction: Transaction, units: Sequence[Append]) -> list[int]:
    """Add many plain messages with four statements in all. The result is the same as adding one after the other."""
    if any(not unit.plain for unit in units) or len(units) > _MAX_SESSIONS:
        return [unit(transaction) for unit in units]
    states = _states(transaction, units)
    clock = transaction.clock(units[0].session_id)
    if any(not _may(states.get(unit.session_id), unit.lease, clock) for unit in units):
        return [unit(transaction) for unit in units]  # one is refused, or gives its session a title
    now = time.time()
    last = transaction.row("SELECT MAX(id) FROM events")
    identifier: int = (last[0] if last is not None else None) or 0
    events: list[Row] = []
    messages: list[Row] = []
    numbers: list[int] = []
    for unit in units:
        message, state, session, turn = unit.message, states[unit.session_id], unit.session_id, unit.turn_id
        seq, identifier = state.next_seq, identifier + 1
        state.next_seq += 1
        payload = message_json(message.role, message.content)
        place = state.number * SPAN + seq
        events.append((place, session, seq, turn, "message", payload, state.fence, now, identifier))
        messages.append((identifier, session, seq, turn, message.role, message.content, None, None, now, None))
        numbers.append(seq)
    transaction.many(TAKE, [(state.number, state.next_seq, now) for state in states.values()])
    transaction.many(INSERT, events)
    transaction.many(transcript.INSERT, messages)
    for _, session, seq, turn, kind, payload, fence, at, _ in events:
        publish(transaction, (session, seq, turn, kind, VERSION, payload, fence, at))
    for session, state in states.items():
        transaction.touched(session, state.next_seq - 1)
    return numbers


class _State:
    """A session during a write."""

    __slots__ = ("fence", "nameless", "next_seq", "number", "owner", "since", "until")

    def __init__(self, row: Row) -> None:
        _, self.number, self.next_seq, self.fence, self.nameless, self.owner, self.since, self.until = row


def _may(state: _State | None, lease: Lease | None, clock: float) -> bool:
    """Whether a message may be added without further checks; the same conditions as in `event_log`."""
    if state is None or state.nameless:
        return False
    if lease is not None:
        return bool(state.fence == lease.fence and state.owner == lease.owner)
    return state.owner is None or bool(state.until <= clock or state.since > clock)


def _states(transaction: Transaction, units: Sequence[Append]) -> dict[str, _State]:
    """The sessions that are written to."""
    sessions = list({unit.session_id: None for unit in units})
    places = ", ".join(f"?{number}" for number in range(1, len(sessions) + 1))
    columns = "id, number, next_seq, fence, title IS NULL, lease_owner, lease_from, lease_until"
    rows = transaction.rows(f"SELECT {columns} FROM sessions WHERE id IN ({places})", *sessions)
    return {row[0]: _State(row) for row in rows}
