"""How far a turn got that another process has begun, and what is left to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolgate.protocol.calls import ToolCall
from toolgate.sessions import summaries, transcript
from toolgate.sessions.calls import UNCERTAIN
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import EventWriter, as_json
from toolgate.sessions.transcript_cache import NOTHING, CachedTranscript
from toolgate.sessions.types import Context, Lease

_OF_TURN = "session_id = ?1 AND turn_id = ?2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """How far a turn got."""

    context: Context
    """What the model reads, valid for a provider but for the calls that are still to be answered."""
    rounds: int
    """Answers of the model so far."""
    calls: tuple[ToolCall, ...]
    """Calls of the last answer that have to run: they were not started, or they may be repeated."""
    has_message: bool
    """Whether the turn has a message of the person; a turn without one summarises the session."""
    is_answered: bool
    """Whether the model has given its last answer: the turn only has to be ended."""


def resume(
    transaction: Transaction,
    lease: Lease,
    turn_id: str,
    repeats: Callable[[str], bool],
    known: CachedTranscript = NOTHING,
) -> ResumePoint:
    """Find out how far a turn got, and settle its open calls. `known` is what was read of the transcript before.

    A call that had started is answered with an error (its outcome is unknown), unless `repeats` allows to run it again.
    """
    session_id = lease.session_id
    known = known.with_tail(transaction, session_id)
    messages = known.messages
    rounds = sum(
        turn == turn_id and message.role == "assistant" for turn, message in zip(known.turns, messages, strict=True)
    )
    has_message = turn_id in known.turns
    missing = transcript.open_calls(messages) if rounds else []
    latest = next((message for message in reversed(messages) if message.role != "tool"), None)
    if not missing or latest is None:
        done = rounds > 0 and latest is not None and latest.role == "assistant" and not latest.tool_calls
        whole = summaries.context(transaction, session_id, known)
        return ResumePoint(context=whole, rounds=rounds, calls=(), has_message=has_message, is_answered=done)
    open_ones = _unanswered(latest.tool_calls, missing)
    uncertain = [call for call in _begun(transaction, session_id, turn_id, open_ones) if not repeats(call.name)]
    if uncertain:
        _give_up(EventWriter(transaction, session_id, lease, turn_id=turn_id, count=2 * len(uncertain)), uncertain)
        known = known.with_tail(transaction, session_id)
    transaction.run(
        f"UPDATE tool_calls SET state = 'proposed' WHERE {_OF_TURN} AND state = 'started'", session_id, turn_id
    )
    left = tuple(call for call in open_ones if not any(call is other for other in uncertain))
    found = summaries.context(transaction, session_id, known)
    found = found._replace(messages=found.messages[: len(found.messages) - len(left)])
    return ResumePoint(context=found, rounds=rounds, calls=left, has_message=has_message, is_answered=False)


def _unanswered(calls: tuple[ToolCall, ...], missing: list[str]) -> list[ToolCall]:
    """The calls whose ids are missing; of several with one id the last ones, for answers come in order."""
    left = list(missing)
    found = []
    for call in reversed(calls):
        if call.id in left:
            left.remove(call.id)
            found.append(call)
    return found[::-1]


def _begun(transaction: Transaction, session_id: str, turn_id: str, calls: list[ToolCall]) -> list[ToolCall]:
    """Those of the calls that had started; of several with one id the first ones, for they run in order."""
    sql = f"SELECT call_id, COUNT(*) FROM tool_calls WHERE {_OF_TURN} AND state = 'started' GROUP BY call_id"
    left = {row[0]: int(row[1]) for row in transaction.rows(sql, session_id, turn_id)}
    begun = []
    for call in calls:
        if left.get(call.id, 0) > 0:
            left[call.id] -= 1
            begun.append(call)
    return begun


def _give_up(writer: EventWriter, calls: list[ToolCall]) -> None:
    """Answer calls whose outcome is unknown."""
    for call in calls:
        writer.transaction.run(
            f"UPDATE tool_calls SET state = 'unknown', finished_at = ?4 WHERE {_OF_TURN} AND call_id = ?3 "
            "AND state = 'started'",
            *(writer.session_id, writer.turn_id, call.id, writer.now),
        )
        writer.event("call_finished", as_json({"call_id": call.id, "tool_name": call.name, **UNCERTAIN}))
        transcript.write(writer, transcript.unanswered(call.id))
