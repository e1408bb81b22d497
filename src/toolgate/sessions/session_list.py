"""The list of a user's sessions: the status of each one, and a search in their messages."""

from __future__ import annotations

from collections.abc import Sequence

from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import clean

COLUMNS = (
    "id, mode, title, user_name, project, parent_id, created_at, updated_at, archived_at, "
    "model, context_tokens, context_limit, approval_mode, next_seq - 1"
)
"""The columns of a session, in the order that `_session` of the session manager reads."""

_SNIPPET = 160
"""Characters of a message that are shown around the words that were found."""
_MAX_MESSAGES = 50_000
"""Messages that one search looks at, the latest first."""
_STATUS = (
    "CASE WHEN EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = s.id AND a.state = 'pending') THEN 'waiting' "
    "WHEN EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND t.status = 'running') THEN 'running' "
    "WHEN (SELECT t.status FROM turns t WHERE t.session_id = s.id ORDER BY t.started_at DESC, t.id DESC LIMIT 1) "
    "IN ('failed', 'interrupted') THEN 'failed' ELSE 'idle' END"
)
_USED = "EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id)"


def find_sessions(
    transaction: Transaction, user: str, *, archived: bool | None, search: str, limit: int
) -> list[tuple[Row, str, str]]:
    """A user's sessions that have a turn, the latest first: each with its status and what was found in it."""
    archived_is = "" if archived is None else f"AND s.archived_at IS {'NOT NULL' if archived else 'NULL'} "
    sql = (
        f"SELECT {', '.join(f's.{name.strip()}' for name in COLUMNS.split(','))}, {_STATUS} FROM sessions s "
        f"WHERE s.user_name = ?1 AND s.parent_id IS NULL {archived_is}AND {_USED} ORDER BY s.updated_at DESC, s.id DESC"
    )
    words = clean(search).casefold().split()
    if not words:
        return [(row[:-1], row[-1], "") for row in transaction.rows(f"{sql} LIMIT ?2", clean(user), limit)]
    contents = _contents(transaction, user, words)
    found: list[tuple[Row, str, str]] = []
    for row in transaction.rows(sql, clean(user)):
        in_title = all(word in (row[2] or "").casefold() for word in words)
        if in_title or row[0] in contents:
            found.append((row[:-1], row[-1], contents.get(row[0], "")))
    return found[:limit]


def latest_session(
    transaction: Transaction, user: str, project: str, *, mode: str | None, interactive: bool
) -> Row | None:
    """The session of a user and project that was used last; `interactive` wants a turn of a person."""
    person = " AND (t.request_id IS NULL OR t.request_id NOT LIKE 'print:%')" if interactive else ""
    sql = (
        f"SELECT {COLUMNS} FROM sessions s WHERE user_name = ?1 AND project = ?2 AND parent_id IS NULL "
        "AND COALESCE(?3, mode) = mode "
        f"AND archived_at IS NULL AND EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id{person}) "
        "ORDER BY updated_at DESC, id DESC LIMIT 1"
    )
    return transaction.row(sql, clean(user), clean(project), mode)


def _contents(transaction: Transaction, user: str, words: Sequence[str]) -> dict[str, str]:
    """Sessions with a message that contains all words, and the piece of the latest one around the first word."""
    sql = (
        "SELECT m.session_id, m.content FROM messages m JOIN sessions s ON s.id = m.session_id "
        "WHERE s.user_name = ?1 AND s.parent_id IS NULL AND m.role IN ('user', 'assistant') "
        f"AND m.rewound_by IS NULL ORDER BY m.id DESC LIMIT {_MAX_MESSAGES}"
    )
    found: dict[str, str] = {}
    for session_id, content in transaction.rows(sql, clean(user)):
        if session_id not in found:
            folded = content.casefold()
            if all(word in folded for word in words):
                found[session_id] = _snippet(content, folded.find(words[0]))
    return found


def _snippet(content: str, at: int) -> str:
    """One line around a place in a message."""
    start = max(0, at - _SNIPPET // 3)
    piece = " ".join(content[start : start + _SNIPPET].split())
    return f"{'…' if start else ''}{piece}{'…' if start + _SNIPPET < len(content) else ''}"
