"""Approval requests: stored before they are shown, answered once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from toolgate.errors import ChoiceNotOffered
from toolgate.protocol.approval import ASK_TOOL, Approval, ApprovalChoice, ApprovalRequest
from toolgate.protocol.modes import ApprovalMode
from toolgate.sessions import permissions
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import ANYONE, EventWriter, as_json, clean, time_of
from toolgate.sessions.types import ApprovalRow, AskedApproval, Lease

_NAMES = (
    "id", "session_id", "turn_id", "call_id", "tool_name", "agent", "summary", "detail", "fingerprint", "state",
    "message", "remember", "choices", "choice", "scope", "approval_mode", "answer", "decided_at",
)  # fmt: skip
_CHOICES = TypeAdapter(tuple[ApprovalChoice, ...], config=ConfigDict(defer_build=True))
PLAN_TOOL = "propose_plan"
"""The tool whose approval request is a plan; only the answer to a plan may switch the approval mode."""
_COLUMNS = f"SELECT {', '.join(_NAMES)} FROM approvals"


def ask(
    transaction: Transaction,
    lease: Lease,
    turn_id: str | None,
    request: ApprovalRequest,
    *,
    asked_in: tuple[str, str] | None,
    timeout: float | None,
    once: bool,
) -> AskedApproval:
    """Store an approval request. With `once`, a request of the same call that was stored before is returned instead."""
    session_id, shown_in = asked_in or (lease.session_id, turn_id)
    identifier = _identifier(transaction, lease, turn_id or "", request) if once else request.id
    row = get(transaction, identifier) if once else None
    if row is not None:
        known = {"id": identifier, "session_id": session_id}
        return AskedApproval(
            request=request.model_copy(update=known),
            row=row,
            waited=waited(transaction, identifier),
            seq=_last_seq(transaction, session_id),
        )
    writer = EventWriter(transaction, session_id, lease if session_id == lease.session_id else ANYONE, turn_id=shown_in)
    deadline = request.deadline if timeout is None else writer.now + timeout
    request = request.model_copy(update={"id": identifier, "session_id": session_id, "deadline": deadline})
    seq = _insert(writer, request)
    stored = get(transaction, identifier)
    assert stored is not None
    return AskedApproval(request=request, row=stored, waited=0.0, seq=seq)


def _last_seq(transaction: Transaction, session_id: str) -> int:
    row = transaction.row("SELECT next_seq - 1 FROM sessions WHERE id = ?1", session_id)
    return 0 if row is None else int(row[0])


def _identifier(transaction: Transaction, lease: Lease, turn_id: str, request: ApprovalRequest) -> str:
    """An id that is the same for one call in every process. Providers repeat call ids, so the ordinal is part of it."""
    sql = (
        "SELECT MIN(ordinal) FROM tool_calls WHERE session_id = ?1 AND turn_id = ?2 AND call_id = ?3 "
        "AND state = 'proposed'"
    )
    row = transaction.row(sql, lease.session_id, turn_id, request.call_id)
    ordinal = row[0] if row is not None else None
    if ordinal is None:
        return request.id
    return repeatable_id(lease.session_id, turn_id, request.call_id, ordinal, request.fingerprint)


def repeatable_id(session_id: str, turn_id: str, call_id: str, ordinal: int, fingerprint: str) -> str:
    """The id of the request for one call, derived from what identifies the call."""
    parts = (session_id, turn_id, call_id, str(ordinal), fingerprint)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _insert(writer: EventWriter, request: ApprovalRequest) -> int:
    texts = [clean(text) for text in (request.call_id, request.tool_name, request.agent, request.summary)]
    detail, fingerprint = clean(request.detail), clean(request.fingerprint)
    _, seq = writer.event("approval_request", as_json(request.model_dump()))
    writer.transaction.run(
        "INSERT INTO approvals (id, session_id, turn_id, call_id, tool_name, agent, summary, detail, fingerprint, "
        "state, asked_at, choices) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?11)",
        request.id,
        writer.session_id,
        writer.turn_id or "",
        *texts,
        detail,
        fingerprint,
        writer.now,
        as_json([choice.model_dump() for choice in request.choices]),
    )
    return seq


def decide(transaction: Transaction, approval_id: str, answer: Approval, user: str | None = None) -> bool:
    """Answer a request; False if there is none, or if it has been answered or withdrawn: the first answer counts.

    With `user`, a request in another user's session is treated as unknown. `ChoiceNotOffered` if the answer picks
    something that the request does not offer: the request stays open.
    """
    found = get(transaction, approval_id)
    if found is None or (user is not None and _user(transaction, found.session_id) != user):
        return False
    if found.state == "pending":
        check_offered(found, answer)
    switched = _switched(found, answer)
    changed = transaction.run(
        "UPDATE approvals SET state = ?2, message = ?3, remember = ?4, decided_at = ?5, choice = ?6, scope = ?7, "
        "approval_mode = ?8, answer = ?9 WHERE id = ?1 AND state = 'pending'",
        approval_id,
        "allowed" if answer.allowed else "denied",
        clean(answer.message),
        int(answer.remember),
        time_of(transaction),
        answer.choice or "call",
        answer.scope if answer.choice is not None else "session",
        None if switched is None else switched.value,
        clean(answer.text),
    )
    if changed and switched is not None:
        permissions.switch(transaction, found.session_id, switched)
    if changed:
        writer = EventWriter(transaction, found.session_id, ANYONE, turn_id=found.turn_id or None)
        _resolved(writer, approval_id, answer.allowed, clean(answer.message))
    return bool(changed)


def check_offered(row: ApprovalRow, answer: Approval) -> None:
    """Raise `ChoiceNotOffered` if the answer picks something that was not offered."""
    if answer.approval_mode is not None and (row.tool_name != PLAN_TOOL or not answer.allowed):
        raise ChoiceNotOffered("Only the answer that accepts a plan can switch the approval mode.")
    if answer.approval_mode is ApprovalMode.plan:
        raise ChoiceNotOffered("An accepted plan goes on in the approval mode ask or accept_edits.")
    if answer.text and row.tool_name not in (PLAN_TOOL, ASK_TOOL):
        raise ChoiceNotOffered("Only the answer to a plan or a question has a text.")
    if row.tool_name == ASK_TOOL and answer.allowed and not answer.text.strip():
        raise ChoiceNotOffered("A question is answered with a text, or declined with allowed: false.")
    if not (answer.allowed and answer.remember) or answer.choice is None:
        return  # a call that cannot be remembered is allowed this once
    offered = next((choice for choice in row.choices if choice.id == answer.choice), None)
    if offered is None or answer.scope not in offered.scopes:
        known = ", ".join(f"{choice.id} ({' or '.join(choice.scopes)})" for choice in row.choices) or "nothing"
        raise ChoiceNotOffered(
            f"{answer.choice!r} for the {answer.scope} was not offered; what can be remembered is: {known}."
        )


def _switched(row: ApprovalRow, answer: Approval) -> ApprovalMode | None:
    """The approval mode that an accepted plan goes on in; None if nothing is switched."""
    if row.tool_name != PLAN_TOOL or not answer.allowed or row.state != "pending":
        return None
    return answer.approval_mode or ApprovalMode.ask


def _user(transaction: Transaction, session_id: str) -> str | None:
    row = transaction.row("SELECT user_name FROM sessions WHERE id = ?1", session_id)
    return None if row is None else str(row[0])


def withdraw(writer: EventWriter, turn_id: str) -> None:
    """Withdraw the open approval requests of a turn."""
    mine = "WHERE session_id = ?1 AND turn_id = ?2 AND state = 'pending'"
    open_ones = writer.transaction.rows(
        f"SELECT id FROM approvals {mine} ORDER BY asked_at, id", writer.session_id, turn_id
    )
    if open_ones:
        writer.transaction.run(
            f"UPDATE approvals SET state = 'withdrawn', decided_at = ?3 {mine}", writer.session_id, turn_id, writer.now
        )
    for (approval_id,) in open_ones:
        _resolved(writer, approval_id, False, "withdrawn: the turn has ended")


def _resolved(writer: EventWriter, approval_id: str, allowed: bool, message: str) -> None:
    writer.event("approval_resolved", as_json({"id": approval_id, "allowed": allowed, "message": message}))


def get(transaction: Transaction, approval_id: str) -> ApprovalRow | None:
    """One approval request."""
    row = transaction.row(f"{_COLUMNS} WHERE id = ?1", approval_id)
    return None if row is None else _row(row)


def waited(transaction: Transaction, approval_id: str) -> float:
    """Seconds that a request has waited, or had waited when it was answered, by the database's clock."""
    row = transaction.row("SELECT asked_at, decided_at FROM approvals WHERE id = ?1", approval_id)
    return 0.0 if row is None else float((time_of(transaction) if row[1] is None else row[1]) - row[0])


def of_session(transaction: Transaction, session_id: str) -> list[ApprovalRow]:
    """All approval requests of a session, oldest first."""
    sql = f"{_COLUMNS} WHERE session_id = ?1 ORDER BY asked_at, id"
    return [_row(row) for row in transaction.rows(sql, session_id)]


def pending(transaction: Transaction, session_id: str) -> list[ApprovalRow]:
    """The open approval requests of a session, oldest first."""
    sql = f"{_COLUMNS} WHERE session_id = ?1 AND state = 'pending' ORDER BY asked_at, id"
    return [_row(row) for row in transaction.rows(sql, session_id)]


def _row(row: Row) -> ApprovalRow:
    fields: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    choices = _CHOICES.validate_python(json.loads(fields["choices"])) if fields["choices"] != "[]" else ()
    return ApprovalRow(**{**fields, "remember": bool(fields["remember"]), "choices": choices})


def allowed_before(transaction: Transaction, session_id: str, turn_id: str, agent: str, asked_in: str) -> list[str]:
    """The fingerprints of the calls that a sub-agent was allowed to repeat for the rest of its turn.

    Its approval requests are in its parent's session. The id of a request says which call of which sub-agent it is for.
    """
    rows = transaction.rows(
        "SELECT a.id, a.call_id, c.ordinal, a.fingerprint FROM approvals a JOIN tool_calls c "
        "ON c.session_id = ?1 AND c.turn_id = ?2 AND c.call_id = a.call_id "
        "WHERE a.session_id = ?3 AND a.state = 'allowed' AND a.remember = 1 AND a.choice = 'call' AND a.agent = ?4",
        *(session_id, turn_id, asked_in, agent),
    )
    return [
        fingerprint
        for identifier, call_id, ordinal, fingerprint in rows
        if identifier == repeatable_id(session_id, turn_id, call_id, ordinal, fingerprint)
    ]
