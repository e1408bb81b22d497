"""Questions to people: written before they are shown, answered once."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import ANYONE, Pen, as_json, clean, time_of
from toolgate.sessions.types import ApprovalRow

_NAMES = (
    "id", "session_id", "turn_id", "call_id", "tool_name", "agent", "summary", "detail", "fingerprint", "state",
    "message", "remember",
)  # fmt: skip
_COLUMNS = f"SELECT {', '.join(_NAMES)} FROM approvals"


def ask(pen: Pen, request: ApprovalRequest) -> None:
    """Write a question down."""
    texts = [clean(text) for text in (request.call_id, request.tool_name, request.agent, request.summary)]
    detail, fingerprint = clean(request.detail), clean(request.fingerprint)
    pen.event("approval_request", as_json(request.model_dump()))
    pen.transaction.run(
        "INSERT INTO approvals (id, session_id, turn_id, call_id, tool_name, agent, summary, detail, fingerprint, "
        "state, asked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10)",
        request.id,
        pen.session_id,
        pen.turn_id or "",
        *texts,
        detail,
        fingerprint,
        pen.now,
    )


def decide(transaction: Transaction, approval_id: str, answer: Approval) -> bool:
    """Answer a question; False if there is none, or if it has been answered or withdrawn: the first answer counts."""
    found = get(transaction, approval_id)
    if found is None:
        return False
    changed = transaction.run(
        "UPDATE approvals SET state = ?2, message = ?3, remember = ?4, decided_at = ?5 "
        "WHERE id = ?1 AND state = 'pending'",
        approval_id,
        "allowed" if answer.allowed else "denied",
        clean(answer.message),
        int(answer.remember),
        time_of(transaction),
    )
    if changed:
        pen = Pen(transaction, found.session_id, ANYONE, turn_id=found.turn_id or None)
        _resolved(pen, approval_id, answer.allowed, clean(answer.message))
    return bool(changed)


def withdraw(pen: Pen, turn_id: str) -> None:
    """Take back the questions of a turn that nobody has answered."""
    mine = "WHERE session_id = ?1 AND turn_id = ?2 AND state = 'pending'"
    open_ones = pen.transaction.rows(f"SELECT id FROM approvals {mine} ORDER BY asked_at, id", pen.session_id, turn_id)
    if open_ones:
        pen.transaction.run(
            f"UPDATE approvals SET state = 'withdrawn', decided_at = ?3 {mine}", pen.session_id, turn_id, pen.now
        )
    for (approval_id,) in open_ones:
        _resolved(pen, approval_id, False, "withdrawn: the turn has ended")


def _resolved(pen: Pen, approval_id: str, allowed: bool, message: str) -> None:
    pen.event("approval_resolved", as_json({"id": approval_id, "allowed": allowed, "message": message}))


def get(transaction: Transaction, approval_id: str) -> ApprovalRow | None:
    """One question."""
    row = transaction.row(f"{_COLUMNS} WHERE id = ?1", approval_id)
    return None if row is None else _row(row)


def waited(transaction: Transaction, approval_id: str) -> float:
    """Seconds that a question has waited, or had when it was answered, by the database's clock."""
    row = transaction.row("SELECT asked_at, decided_at FROM approvals WHERE id = ?1", approval_id)
    return 0.0 if row is None else float((time_of(transaction) if row[1] is None else row[1]) - row[0])


def of_session(transaction: Transaction, session_id: str) -> list[ApprovalRow]:
    """All questions of a session, oldest first."""
    sql = f"{_COLUMNS} WHERE session_id = ?1 ORDER BY asked_at, id"
    return [_row(row) for row in transaction.rows(sql, session_id)]


def pending(transaction: Transaction, session_id: str) -> list[ApprovalRow]:
    """The questions of a session that nobody has answered, oldest first."""
    sql = f"{_COLUMNS} WHERE session_id = ?1 AND state = 'pending' ORDER BY asked_at, id"
    return [_row(row) for row in transaction.rows(sql, session_id)]


def _row(row: Row) -> ApprovalRow:
    fields: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    return ApprovalRow(**{**fields, "remember": bool(fields["remember"])})
