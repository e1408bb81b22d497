"""Going back in a session: later messages leave the transcript, and the log keeps all of them.

A rewind always removes the end of the transcript, from a message of the person on. So a call is never separated from
its result. A reader that has cached a part of the transcript notices the rewind, because its last message is missing.
"""

from __future__ import annotations

from typing import Any

from toolgate.errors import NoSuchMessage
from toolgate.protocol.content import StoredImage
from toolgate.sessions import transcript
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import EventWriter, as_json
from toolgate.sessions.schema import SPAN
from toolgate.sessions.types import Lease

_FROM = (
    f"place >= (SELECT number * {SPAN} FROM sessions WHERE id = ?1) + ?2 "
    f"AND place < (SELECT (number + 1) * {SPAN} FROM sessions WHERE id = ?1)"
)
_SAID = (
    "SELECT m.images, m.content, e.seq FROM events e JOIN messages m ON m.id = e.id "
    f"WHERE e.place >= (SELECT number * {SPAN} FROM sessions WHERE id = ?1) + ?2 "
    f"AND e.place < (SELECT (number + 1) * {SPAN} FROM sessions WHERE id = ?1) AND m.rewound_by IS NULL "
    "AND m.role = 'user'"
)
_FAMILY_TURNS = (
    "WITH RECURSIVE family(id) AS ("
    f"SELECT id FROM turns WHERE session_id = ?1 AND id IN (SELECT turn_id FROM events WHERE {_FROM}) "
    "UNION SELECT turns.id FROM turns JOIN family ON turns.parent_id = family.id) SELECT id FROM family"
)


def user_message(transaction: Transaction, session_id: str, seq: int) -> Row:
    """The person's message with this number; `NoSuchMessage` if the conversation has none."""
    row = transaction.row(f"{_SAID} ORDER BY e.place LIMIT 1", session_id, seq)
    if row is None or row[2] != seq:
        raise NoSuchMessage(f"The conversation has no message of yours with the number {seq}; look at it again.")
    return row


def user_message_images(transaction: Transaction, session_id: str, seq: int) -> tuple[StoredImage, ...]:
    """The pictures of the person's message with this number."""
    return transcript.images_of(user_message(transaction, session_id, seq)[0])


def last_user_message(transaction: Transaction, session_id: str) -> tuple[int, str]:
    """The number and the content of the person's last message; `NoSuchMessage` if there is none."""
    row = transaction.row(f"{_SAID} ORDER BY e.place DESC LIMIT 1", session_id, 0)
    if row is None:
        raise NoSuchMessage("You have not said anything in this session yet.")
    return int(row[2]), str(row[1])


def turns_from(transaction: Transaction, session_id: str, seq: int) -> list[str]:
    """The turns of a session from a message on, with those of their sub-agents."""
    user_message(transaction, session_id, seq)
    return [row[0] for row in transaction.rows(_FAMILY_TURNS, session_id, seq)]


def rewind(
    transaction: Transaction, session_id: str, lease: Lease | None, seq: int, files: dict[str, Any] | None = None
) -> int:
    """Take a message of the person and everything after it out of the transcript; returns the number of the event.

    `files` says what became of the files, if they were to be taken back. The to-do list becomes what it was.
    """
    user_message(transaction, session_id, seq)
    writer = EventWriter(transaction, session_id, lease)
    _, event = writer.event("rewound", as_json({"to_seq": seq, "files": files}))
    transaction.run(
        f"UPDATE messages SET rewound_by = ?3 WHERE id IN (SELECT id FROM events WHERE {_FROM}) AND rewound_by IS NULL",
        *(session_id, seq, event),
    )
    transaction.run("UPDATE sessions SET rewound_by = ?2 WHERE id = ?1", session_id, event)
    _restore_todos(writer, seq)
    return event


def _restore_todos(writer: EventWriter, seq: int) -> None:
    """Write the to-do list as it was before a message, if it has changed since."""
    changes = [payload for place, payload in _todo_events(writer) if place >= seq]
    if not changes:
        return
    earlier = [payload for place, payload in _todo_events(writer) if place < seq]
    payload = earlier[-1] if earlier else '{"items":[]}'
    writer.event("todos", payload)
    writer.transaction.run(
        "INSERT INTO todos (session_id, items) VALUES (?1, ?2) "
        "ON CONFLICT (session_id) DO UPDATE SET items = excluded.items",
        *(writer.session_id, payload[len('{"items":') : -1]),
    )


def _todo_events(writer: EventWriter) -> list[tuple[int, str]]:
    """The changes of the to-do list in order. A rewind has written the list that is valid after it."""
    sql = f"SELECT seq, payload FROM events WHERE {_FROM} AND kind = 'todos' ORDER BY place"
    return [(int(seq), str(payload)) for seq, payload in writer.transaction.rows(sql, writer.session_id, 0)]
