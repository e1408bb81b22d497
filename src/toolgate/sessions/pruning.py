"""Removing sessions that nobody has used for long: whole ones, with everything that is known about them."""

from __future__ import annotations

from toolgate.sessions.driver import Transaction
from toolgate.sessions.schema import SPAN, removing

_FAMILY = (
    "WITH RECURSIVE family(id) AS (SELECT id FROM sessions WHERE id = ?1 "
    "UNION ALL SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id) "
)
_USED = (
    f"{_FAMILY}SELECT 1 FROM sessions WHERE id IN (SELECT id FROM family) AND (updated_at >= ?2 "
    "OR id IN (SELECT session_id FROM turns WHERE status = 'running')) LIMIT 1"
)
# Numbers are given anew from the greatest that there is, and readers in other processes go on from theirs: the session
# that the log ends with and the last one stay.
_LAST = (
    "SELECT session_id FROM (SELECT session_id FROM events ORDER BY id DESC LIMIT 1) AS last_event "
    "UNION SELECT id FROM (SELECT id FROM sessions ORDER BY number DESC LIMIT 1) AS last_session"
)
_BY_SESSION = ("tool_calls", "approvals", "todos", "turns", "live", "live_output", "shells", "outputs")
_WITHIN = f"(SELECT id FROM events WHERE place >= ?1 * {SPAN} AND place < (?1 + 1) * {SPAN})"


def candidates(transaction: Transaction, before: float, project: str | None) -> list[str]:
    """Sessions that people began and that nobody has used since; the oldest first, without those that are needed."""
    where = "" if project is None else " AND project = ?2"
    sql = f"SELECT id FROM sessions WHERE parent_id IS NULL AND updated_at < ?1{where} ORDER BY updated_at, id"
    found = transaction.rows(sql, before, *([] if project is None else [project]))
    needed = {row[0] for row in transaction.rows(_LAST)}
    return [row[0] for row in found if _removable(transaction, row[0], before, needed)]


def remove(transaction: Transaction, session_id: str, before: float) -> bool:
    """Remove a session and those of its sub-agents; False, and nothing, if it was used meanwhile or is needed."""
    needed = {row[0] for row in transaction.rows(_LAST)}
    if not _removable(transaction, session_id, before, needed):
        return False
    shared = transaction.rows(
        f"{_FAMILY}SELECT id, number FROM sessions WHERE id IN (SELECT id FROM family)", session_id
    )
    if any(_is_taken(transaction, identifier) for identifier, _ in shared):
        return False
    with removing(transaction.dialect, transaction.run):
        for identifier, number in shared:
            transaction.run(f"DELETE FROM messages WHERE id IN {_WITHIN}", number)
            transaction.run(f"DELETE FROM events WHERE id IN {_WITHIN}", number)
            transaction.run(
                "DELETE FROM dispatches WHERE turn_id IN (SELECT id FROM turns WHERE session_id = ?1)", identifier
            )
            for table in _BY_SESSION:
                transaction.run(f"DELETE FROM {table} WHERE session_id = ?1", identifier)
            transaction.run("DELETE FROM sessions WHERE id = ?1", identifier)
    return True


def _removable(transaction: Transaction, session_id: str, before: float, needed: set[str]) -> bool:
    if transaction.row(_USED, session_id, before) is not None:
        return False
    shared = transaction.rows(f"{_FAMILY}SELECT id FROM family", session_id)
    return bool(shared) and needed.isdisjoint(row[0] for row in shared)


def _is_taken(transaction: Transaction, session_id: str) -> bool:
    """Whether somebody holds it now; the row stays locked until all of this is over."""
    now = transaction.clock(session_id)
    held = "SELECT 1 FROM sessions WHERE id = ?1 AND lease_owner IS NOT NULL AND lease_from <= ?2 AND lease_until > ?2"
    return transaction.row(held, session_id, now) is not None
