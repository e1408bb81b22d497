"""What a session may do without asking: its approval mode, and what its person has allowed for the rest of it."""

from __future__ import annotations

import json
from typing import Any

from toolgate.errors import SessionError, SessionNotFound
from toolgate.log import logger
from toolgate.protocol.modes import ApprovalMode
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import ANYONE, EventWriter, as_json
from toolgate.sessions.types import Permission, SessionPermissions

EVENT = "approval_mode"
REMOVED = "permission_removed"
_TOP = (
    "WITH RECURSIVE above (id, parent_id, approval_mode, project) AS ("
    "SELECT id, parent_id, approval_mode, project FROM sessions WHERE id = ?1 "
    "UNION ALL SELECT s.id, s.parent_id, s.approval_mode, s.project FROM sessions s JOIN above a "
    "ON s.id = a.parent_id) SELECT id, approval_mode, project FROM above WHERE parent_id IS NULL"
)
_REMEMBERED = (
    "SELECT id, choice, choices, tool_name, summary, fingerprint, decided_at FROM approvals WHERE session_id = ?1 "
    "AND remember = 1 AND state = 'allowed' AND scope = 'session' AND (agent = '' OR choice <> 'call') "
    "ORDER BY asked_at, id"
)


def effective(value: object, session_id: str = "") -> ApprovalMode:
    """The approval mode of a stored value. An unknown value means `plan`, in which nothing can be changed."""
    if isinstance(value, str) and value in ApprovalMode.__members__:
        return ApprovalMode(value)
    logger("sessions").warning("invalid_approval_mode_value", session_id=session_id, value=value, used="plan")
    return ApprovalMode.plan


def read(transaction: Transaction, session_id: str, project: str | None = None) -> SessionPermissions:
    """What a session may do. The session of a sub-agent has the approval mode and the rules of its top session.

    Exact calls that were allowed to one agent are not allowed to another. With a `project`, a session of another
    project has only its approval mode: the same command may do something else there.
    """
    top = transaction.row(_TOP, session_id)
    if top is None:
        raise SessionNotFound(f"There is no session {session_id!r}.")
    owner, mode, filed_under = top
    if project is not None and filed_under not in ("", project):
        return SessionPermissions(approval_mode=effective(mode, owner))
    found = tuple(map(_permission, transaction.rows(_REMEMBERED, owner)))
    if owner != session_id:
        found = tuple(permission for permission in found if permission.choice != "call")
    return SessionPermissions(approval_mode=effective(mode, owner), permissions=found)


def switch(transaction: Transaction, session_id: str, approval_mode: ApprovalMode) -> None:
    """Switch a session to another approval mode, with an event; the last switch wins."""
    row = transaction.row("SELECT parent_id, approval_mode FROM sessions WHERE id = ?1", session_id)
    if row is None:
        raise SessionNotFound(f"There is no session {session_id!r}.")
    if row[0] is not None:
        raise SessionError("A sub-agent has the approval mode of the session that started it: switch that one.")
    if row[1] == approval_mode.value:
        return
    writer = EventWriter(transaction, session_id, ANYONE)
    transaction.run("UPDATE sessions SET approval_mode = ?2 WHERE id = ?1", session_id, approval_mode.value)
    writer.event(EVENT, as_json({"approval_mode": approval_mode.value}))


def remove(transaction: Transaction, session_id: str, permission_id: str) -> bool:
    """Take back what was allowed for the rest of a session; False if there is no such permission."""
    sql = "UPDATE approvals SET remember = 0 WHERE id = ?1 AND session_id = ?2 AND remember = 1 AND scope = 'session'"
    if not transaction.run(sql, permission_id, session_id):
        return False
    EventWriter(transaction, session_id, ANYONE).event(REMOVED, as_json({"id": permission_id}))
    return True


def _permission(row: Row) -> Permission:
    identifier, choice, choices, tool_name, summary, fingerprint, decided_at = row
    offered: list[dict[str, Any]] = json.loads(choices)
    picked = next((found for found in offered if found.get("id") == choice), {})
    return Permission(
        id=identifier,
        choice=choice,
        label=picked.get("label") or "this exact call",
        rule=picked.get("rule", ""),
        tool_name=tool_name,
        summary=summary,
        fingerprint=fingerprint,
        created_at=decided_at or 0.0,
    )
