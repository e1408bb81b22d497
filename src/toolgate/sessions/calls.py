"""Tool calls: how far each one got, so that a crash is visible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.protocol.calls import ToolCall
from toolgate.protocol.record import CallRecord
from toolgate.runtime.arguments import ArgumentsError, parse_arguments
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import EventWriter, as_json, clean
from toolgate.sessions.types import CallRow

_NAMES = ("session_id", "turn_id", "call_id", "ordinal", "tool_name", "state", "status", "code")
_COLUMNS = f"SELECT {', '.join(_NAMES)} FROM tool_calls"
_KEY = "session_id = ?1 AND turn_id = ?2 AND call_id = ?3"
_EARLIER = {
    "decision": "('proposed')",
    "started": "('proposed', 'approved')",
    "finished": "('started', 'proposed', 'approved')",
}
"""Kind of a record → the states that a call may have before it."""
_OPEN = _EARLIER["finished"]
_NEVER_RAN: dict[str, Any] = {
    "status": "error",
    "code": "CANCELLED",
    "text": "The process ended before the call began; it did not run.",
    "uncertain": False,
}
"""The result of a call that had not started when its process ended."""
UNCERTAIN: dict[str, Any] = {
    "status": "error",
    "code": "EXECUTION_ERROR",
    "text": "The process ended while the call ran; nobody knows how far it got.",
    "uncertain": True,
}
"""The result of a call that had started when its process ended."""


def propose(writer: EventWriter, calls: Iterable[ToolCall]) -> None:
    """Store the calls that a model has requested, each with its own event."""
    for call in calls:
        _insert(writer, call.id, call.name)
        payload = {"call_id": call.id, "tool_name": call.name, "arguments": _arguments(call)}
        writer.event("call_proposed", as_json(payload))


def _arguments(call: ToolCall) -> dict[str, Any] | str:
    """The parsed object, or the raw string if it cannot be parsed."""
    try:
        return parse_arguments(call.arguments)
    except ArgumentsError:
        return call.arguments


def _insert(writer: EventWriter, call_id: str, tool_name: str) -> int:
    """Insert a row and return its ordinal, which tells it from earlier calls with the same id."""
    turn_id = writer.turn_id or ""
    row = writer.transaction.row(
        f"SELECT COALESCE(MAX(ordinal), -1) + 1 FROM tool_calls WHERE {_KEY}", writer.session_id, turn_id, call_id
    )
    ordinal = int(row[0]) if row else 0
    writer.transaction.run(
        "INSERT INTO tool_calls (session_id, turn_id, call_id, ordinal, tool_name, state, proposed_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, 'proposed', ?6)",
        writer.session_id,
        turn_id,
        call_id,
        ordinal,
        tool_name,
        writer.now,
    )
    return ordinal


def record(writer: EventWriter, entry: CallRecord) -> None:
    """Write a record of the pipeline to the log, and update the state of its call."""
    call_id, tool_name = clean(entry.call_id), clean(entry.tool_name)
    writer.event(
        {"decision": "decision", "started": "call_started", "finished": "call_finished"}[entry.kind],
        as_json({"call_id": call_id, "tool_name": tool_name, **entry.payload}),
    )
    ordinal = _ordinal(writer, entry.kind, call_id, tool_name)
    key = (writer.session_id, writer.turn_id or "", call_id, ordinal)
    at = f"WHERE {_KEY} AND ordinal = ?4"
    if entry.kind == "started":
        sql = f"UPDATE tool_calls SET state = 'started', started_at = ?5, tool_name = ?6 {at}"
        writer.transaction.run(sql, *key, writer.now, tool_name)
    elif entry.kind == "finished":
        state = "unknown" if entry.payload.get("uncertain") is True else "finished"
        sql = f"UPDATE tool_calls SET state = '{state}', finished_at = ?5, status = ?6, code = ?7 {at}"
        writer.transaction.run(sql, *key, writer.now, _text(entry.payload, "status"), _text(entry.payload, "code"))
    elif entry.payload.get("decision") == "allow":
        writer.transaction.run(f"UPDATE tool_calls SET state = 'approved' {at}", *key)


def _ordinal(writer: EventWriter, kind: str, call_id: str, tool_name: str) -> int:
    """The ordinal of the first call with that id that has not reached this state. Without one, a row is inserted."""
    row = writer.transaction.row(
        f"SELECT MIN(ordinal) FROM tool_calls WHERE {_KEY} AND state IN {_EARLIER[kind]}",
        writer.session_id,
        writer.turn_id or "",
        call_id,
    )
    return int(row[0]) if row is not None and row[0] is not None else _insert(writer, call_id, tool_name)


def _text(payload: dict[str, Any], key: str) -> str | None:
    value = payload.get(key)
    return None if value is None else clean(str(value))


def of_session(transaction: Transaction, session_id: str) -> list[CallRow]:
    """All calls of a session, in the order in which they were asked for."""
    sql = f"{_COLUMNS} WHERE session_id = ?1 ORDER BY proposed_at, turn_id, call_id, ordinal"
    return [_call(row) for row in transaction.rows(sql, session_id)]


def _call(row: Row) -> CallRow:
    return CallRow(**dict(zip(_NAMES, row, strict=True)))


def close_after_crash(writer: EventWriter) -> tuple[CallRow, ...]:
    """End every open call. Calls that had started become `unknown` and are returned; the others are cancelled."""
    sql = f"{_COLUMNS} WHERE session_id = ?1 AND state IN {_OPEN} ORDER BY proposed_at, turn_id, call_id, ordinal"
    rows = [_call(row) for row in writer.transaction.rows(sql, writer.session_id)]
    uncertain = []
    for call in rows:
        if call.state == "started":
            uncertain.append(call.model_copy(update={"state": "unknown"}))
            _close(writer, call, "unknown", UNCERTAIN)
        else:
            _close(writer, call, "finished", _NEVER_RAN)
    return tuple(uncertain)


def _close(writer: EventWriter, call: CallRow, state: str, result: dict[str, Any]) -> None:
    status, code = (result["status"], result["code"]) if state == "finished" else (None, None)
    writer.transaction.run(
        f"UPDATE tool_calls SET state = ?5, finished_at = ?6, status = ?7, code = ?8 WHERE {_KEY} AND ordinal = ?4",
        *(call.session_id, call.turn_id, call.call_id, call.ordinal, state, writer.now, status, code),
    )
    writer.event("call_finished", as_json({"call_id": call.call_id, "tool_name": call.tool_name, **result}))
