"""Removes whole sessions with all their rows: old ones, or one that a person deletes."""

from __future__ import annotations

from toolgate.errors import SessionBusy, SessionNotFound
from toolgate.protocol.ids import uuid7
from toolgate.sessions import leases, turns
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import EventWriter, time_of
from toolgate.sessions.schema import SPAN, removing

_FAMILY = (
    "WITH RECURSIVE family(id) AS (SELECT id FROM sessions WHERE id = ?1 "
    "UNION ALL SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id) "
)
_USED = (
    f"{_FAMILY}SELECT 1 FROM sessions WHERE id IN (SELECT id FROM family) AND (updated_at >= ?2 "
    "OR id IN (SELECT session_id FROM turns WHERE status = 'running')) LIMIT 1"
)
# SQLite numbers new rows from the greatest existing number, and readers in other processes continue from the last
# number that they have read. So the session of the last event and the newest session must stay.
_LAST = (
    "SELECT session_id FROM (SELECT session_id FROM events ORDER BY id DESC LIMIT 1) AS last_event "
    "UNION SELECT id FROM (SELECT id FROM sessions ORDER BY number DESC LIMIT 1) AS last_session"
)
_BY_SESSION = (
    "tool_calls",
    "approvals",
    "todos",
    "turns",
    "live",
    "live_output",
    "shells",
    "outputs",
    "summaries",
    "pictures",
)
_MARK = "deleted"
"""The parent of the empty session that holds SQLite's greatest numbers."""
_LEASE_SECONDS = 30.0
"""Seconds of the lease on a session that is removed in the same transaction."""
_WITHIN = f"(SELECT id FROM events WHERE place >= ?1 * {SPAN} AND place < (?1 + 1) * {SPAN})"


def candidates(transaction: Transaction, before: float, project: str | None) -> list[str]:
    """Sessions of people that nobody has used since `before`, the oldest first, without those that must stay."""
    where = "" if project is None else " AND project = ?2"
    sql = f"SELECT id FROM sessions WHERE parent_id IS NULL AND updated_at < ?1{where} ORDER BY updated_at, id"
    found = transaction.rows(sql, before, *([] if project is None else [project]))
    needed = {row[0] for row in transaction.rows(_LAST)}
    return [row[0] for row in found if _removable(transaction, row[0], before, needed)]


def remove(transaction: Transaction, session_id: str, before: float) -> bool:
    """Remove a session and those of its sub-agents; return False if it was used meanwhile or must stay."""
    needed = {row[0] for row in transaction.rows(_LAST)}
    if not _removable(transaction, session_id, before, needed):
        return False
    sessions = transaction.rows(
        f"{_FAMILY}SELECT id, number FROM sessions WHERE id IN (SELECT id FROM family)", session_id
    )
    if any(_is_taken(transaction, identifier) for identifier, _ in sessions):
        return False
    _delete(transaction, sessions)
    return True


def family(transaction: Transaction, session_id: str) -> list[str]:
    """The session and those of its sub-agents."""
    return [row[0] for row in transaction.rows(f"{_FAMILY}SELECT id FROM family", session_id)]


def delete(transaction: Transaction, session_id: str) -> list[str]:
    """Remove a session and those of its sub-agents at the person's request; return all their ids.

    `SessionNotFound` if there is none, and `SessionBusy`, with nothing removed, while a turn runs in one of them.
    """
    found = transaction.rows(
        f"{_FAMILY}SELECT id, number FROM sessions WHERE id IN (SELECT id FROM family)", session_id
    )
    if not found:
        raise SessionNotFound(f"There is no session {session_id!r}.")
    for identifier, _ in found:
        lease = leases.claim(transaction, identifier, _LEASE_SECONDS)
        if lease is None:
            raise SessionBusy("A turn of this session is running; wait for it, or cancel it, and delete it then.")
        turns.recover(transaction, lease)  # raises `SessionBusy` while workers have the turn
    if transaction.dialect == "sqlite":
        _keep_numbers(transaction)
    hashes = [
        row[0]
        for identifier, _ in found
        for row in transaction.rows("SELECT hash FROM outputs WHERE session_id = ?1", identifier)
    ]
    _delete(transaction, found)
    for digest in hashes:
        transaction.run(
            "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM outputs WHERE hash = ?1)", digest
        )
    return [identifier for identifier, _ in found]


def _keep_numbers(transaction: Transaction) -> None:
    """Write an empty session with one event after all others, so that SQLite never reuses a number.

    It belongs to no user, no list shows it, and it replaces the one that was written before.
    """
    sql = "SELECT id, number FROM sessions WHERE parent_id = ?1"
    before = transaction.rows(sql, _MARK)
    marker = uuid7()
    now = time_of(transaction)
    transaction.run(
        "INSERT INTO sessions (id, mode, parent_id, created_at, updated_at) VALUES (?1, 'chat_safe', ?2, ?3, ?3)",
        *(marker, _MARK, now),
    )
    EventWriter(transaction, marker, None).event("session_deleted", "{}")
    _delete(transaction, before)


def _delete(transaction: Transaction, sessions: list[Row]) -> None:
    """Remove everything about these sessions (id, number)."""
    with removing(transaction.dialect, transaction.run):
        for identifier, number in sessions:
            transaction.run(f"DELETE FROM messages WHERE id IN {_WITHIN}", number)
            transaction.run(f"DELETE FROM events WHERE id IN {_WITHIN}", number)
            transaction.run(
                "DELETE FROM dispatches WHERE turn_id IN (SELECT id FROM turns WHERE session_id = ?1)", identifier
            )
            for table in _BY_SESSION:
                transaction.run(f"DELETE FROM {table} WHERE session_id = ?1", identifier)
            transaction.run("DELETE FROM sessions WHERE id = ?1", identifier)


def _removable(transaction: Transaction, session_id: str, before: float, needed: set[str]) -> bool:
    if transaction.row(_USED, session_id, before) is not None:
        return False
    sessions = transaction.rows(f"{_FAMILY}SELECT id FROM family", session_id)
    return bool(sessions) and needed.isdisjoint(row[0] for row in sessions)


def _is_taken(transaction: Transaction, session_id: str) -> bool:
    """Whether a process holds the session's lease. The row stays locked until the transaction ends."""
    now = transaction.clock(session_id)
    held = "SELECT 1 FROM sessions WHERE id = ?1 AND lease_owner IS NOT NULL AND lease_from <= ?2 AND lease_until > ?2"
    return transaction.row(held, session_id, now) is not None
