"""Forks a session: copies its log up to a message into a new session, with the same numbers.

Permissions that were given for the rest of the first session are not copied. The state of its shell is copied only if
the whole session is.
"""

from __future__ import annotations

from toolgate.errors import NoSuchMessage
from toolgate.sessions import pictures, rewind
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import EventWriter, as_json, clean, time_of
from toolgate.sessions.schema import SPAN

MAX_TITLE = 200

_COPIED_EVENTS = (
    "INSERT INTO events (place, session_id, seq, turn_id, kind, version, payload, fence, created_at) "
    f"SELECT ?1 * {SPAN} + seq, ?2, seq, turn_id || ?3, kind, version, payload, 0, created_at FROM events "
    f"WHERE place > ?4 * {SPAN} AND place < ?4 * {SPAN} + ?5 ORDER BY place"
)
_COPIED_MESSAGES = (
    "INSERT INTO messages "
    "(id, session_id, seq, turn_id, role, content, tool_calls, tool_call_id, created_at, rewound_by, images) "
    "SELECT copy.id, ?2, m.seq, m.turn_id || ?3, m.role, m.content, m.tool_calls, m.tool_call_id, m.created_at, "
    "m.rewound_by, m.images FROM events e JOIN messages m ON m.id = e.id "
    f"JOIN events copy ON copy.place = ?1 * {SPAN} + e.seq "
    f"WHERE e.place > ?4 * {SPAN} AND e.place < ?4 * {SPAN} + ?5 ORDER BY e.place"
)
_COPIED_TURNS = (
    "INSERT INTO turns (id, session_id, status, attempt, error, started_at, finished_at) "
    "SELECT id || ?2, ?1, status, attempt, error, started_at, finished_at FROM turns WHERE session_id = ?3 "
    f"AND id IN (SELECT turn_id FROM events WHERE place > ?4 * {SPAN} AND place < ?4 * {SPAN} + ?5)"
)
_COPIED_CALLS = (
    "INSERT INTO tool_calls (session_id, turn_id, call_id, ordinal, tool_name, state, status, code, proposed_at, "
    "started_at, finished_at) SELECT ?1, turn_id || ?2, call_id, ordinal, tool_name, state, status, code, "
    "proposed_at, started_at, finished_at FROM tool_calls WHERE session_id = ?3 "
    f"AND turn_id IN (SELECT turn_id FROM events WHERE place > ?4 * {SPAN} AND place < ?4 * {SPAN} + ?5)"
)
_RUNNING = (
    "SELECT MIN(e.seq) FROM events e JOIN turns t ON t.id = e.turn_id "
    f"WHERE e.place > ?1 * {SPAN} AND e.place < (?1 + 1) * {SPAN} AND t.status = 'running'"
)


def fork(transaction: Transaction, source: str, seq: int | None, new_id: str, mode: str) -> None:
    """Make the session `new_id` from everything before a message of the person, or from all turns that have ended."""
    row = transaction.row(
        "SELECT number, next_seq, title, user_name, project, model FROM sessions WHERE id = ?1 AND parent_id IS NULL",
        source,
    )
    if row is None:
        raise NoSuchMessage("Only a session that a person has begun can be forked.")
    number, title = int(row[0]), (row[2] or "").removesuffix(" (fork)")
    end = _end(transaction, source, number, int(row[1]), seq)
    now = time_of(transaction)
    transaction.run(
        "INSERT INTO sessions (id, mode, title, user_name, project, created_at, updated_at, next_seq, model) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8)",
        *(new_id, mode, f"{title[: MAX_TITLE - 7]} (fork)" if title else None, row[3], row[4], now, end, row[5]),
    )
    made = transaction.row("SELECT number FROM sessions WHERE id = ?1", new_id)
    assert made is not None
    _copy(transaction, source, new_id, (int(made[0]), number), end)
    transaction.run(
        "INSERT INTO summaries (session_id, until, content) "
        "SELECT ?1, until, content FROM summaries WHERE session_id = ?2 AND until < ?3",
        *(new_id, source, end),
    )
    if seq is None:
        transaction.run(
            "INSERT INTO shells (session_id, state) SELECT ?1, state FROM shells WHERE session_id = ?2", new_id, source
        )
    EventWriter(transaction, new_id, None).event("forked", as_json({"session_id": source, "seq": end}))


def _end(transaction: Transaction, source: str, number: int, next_seq: int, seq: int | None) -> int:
    """The number of the first event that is not copied: the first of that message's turn, or of a running turn."""
    if seq is None:
        running = transaction.row(_RUNNING, number)
        return next_seq if running is None or running[0] is None else int(running[0])
    rewind.user_message(transaction, source, seq)
    row = transaction.row("SELECT turn_id FROM events WHERE place = ?1", number * SPAN + seq)
    first = transaction.row(
        f"SELECT MIN(seq) FROM events WHERE place > ?1 * {SPAN} AND place <= ?2 AND turn_id = ?3",
        *(number, number * SPAN + seq, row[0] if row is not None else None),
    )
    return seq if first is None or first[0] is None else int(first[0])


def _copy(transaction: Transaction, source: str, new_id: str, numbers: tuple[int, int], end: int) -> None:
    new, old = numbers
    mark = f"~{new}"
    transaction.run(_COPIED_EVENTS, new, new_id, mark, old, end)
    transaction.run(_COPIED_MESSAGES, new, new_id, mark, old, end)
    for statement in (_COPIED_TURNS, _COPIED_CALLS):
        transaction.run(statement, new_id, mark, source, old, end)
    transaction.run(
        "INSERT INTO outputs (session_id, reference, hash, size, stored_at) "
        "SELECT ?1, reference, hash, size, stored_at FROM outputs WHERE session_id = ?2",
        *(new_id, source),
    )
    pictures.copy(transaction, source, new_id)
    _restore_state(transaction, new_id, new)


def _restore_state(transaction: Transaction, new_id: str, number: int) -> None:
    """Restore the to-do list and the last rewind from the copied events."""
    rows: list[Row] = transaction.rows(
        f"SELECT kind, seq, payload FROM events WHERE place > ?1 * {SPAN} AND place < (?1 + 1) * {SPAN} "
        "AND kind IN ('todos', 'rewound') ORDER BY place",
        number,
    )
    lists = [payload for kind, _, payload in rows if kind == "todos"]
    if lists:
        items = clean(lists[-1][len('{"items":') : -1])
        transaction.run("INSERT INTO todos (session_id, items) VALUES (?1, ?2)", new_id, items)
    rewinds = [seq for kind, seq, _ in rows if kind == "rewound"]
    if rewinds:
        transaction.run("UPDATE sessions SET rewound_by = ?2 WHERE id = ?1", new_id, rewinds[-1])
