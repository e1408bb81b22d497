"""Long-term notes with a full-text index: the `MemoryStore` of one user in one project."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from toolgate.protocol.ids import uuid7
from toolgate.sessions.database import Database
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import clean

_INSERT = "INSERT INTO memories (id, user_name, project, content, created_at"
_FOUND = "SELECT m.id, m.content, m.created_at FROM memories m"
_MINE = "m.user_name = ?1 AND m.project = ?2"

_BEGINNING = 1_000
"""Characters of a note that `recent` gives."""


class Memory:
    """Notes of one user in one project; nobody else finds them. Best matches come first."""

    def __init__(self, db: Database, *, user: str = "", project: str = "") -> None:
        self._db = db
        self._owner = (clean(user), clean(project))

    async def append(self, content: str) -> None:
        """Keep one note."""
        from toolgate.sessions.word_index import index_words

        text = clean(content)
        values = (uuid7(), *self._owner, text, time.time())
        await self._db.write(lambda tx: _insert(tx, values, index_words(text)))

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """The notes that hold any of the query's words, or words that begin like them; the best first."""
        from toolgate.sessions.word_index import query_words

        words = query_words(query)
        if not words or limit < 1:
            return []
        return await self._db.read(lambda tx: [_note(row) for row in _find(tx, self._owner, words, limit)])

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        """The latest notes, newest first, of long ones the beginning: what a session begins with."""
        if limit < 1:
            return []
        return await self._db.read(lambda tx: [_note(row) for row in _latest(tx, self._owner, limit)])


def _insert(tx: Transaction, values: Sequence[Any], words: list[str]) -> None:
    if tx.dialect == "postgresql":
        tx.run(
            f"{_INSERT}, words) VALUES (?1, ?2, ?3, ?4, ?5, CAST(CAST(?6 AS TEXT) AS TSVECTOR))",
            *values,
            _vector(words),
        )
        return
    row = tx.row(f"{_INSERT}) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING number", *values)
    assert row is not None
    tx.run("INSERT INTO memories_index (rowid, words) VALUES (?1, ?2)", row[0], " ".join(words))


def _find(tx: Transaction, owner: tuple[str, str], words: list[str], limit: int) -> list[Row]:
    if tx.dialect == "postgresql":
        sql = (
            f"{_FOUND}, CAST(CAST(?3 AS TEXT) AS TSQUERY) q WHERE {_MINE} AND m.words @@ q "
            "ORDER BY ts_rank(m.words, q) DESC, m.number DESC LIMIT ?4"
        )
        return tx.rows(sql, *owner, " | ".join(f"'{word}'{_prefix(word, ':*')}" for word in words), limit)
    sql = (
        f"{_FOUND} JOIN memories_index i ON i.rowid = m.number WHERE {_MINE} AND memories_index MATCH ?3 "
        "ORDER BY bm25(memories_index), m.number DESC LIMIT ?4"
    )
    return tx.rows(sql, *owner, " OR ".join(f'"{word}"{_prefix(word, "*")}' for word in words), limit)


def _latest(tx: Transaction, owner: tuple[str, str], limit: int) -> list[Row]:
    where = f"FROM memories m WHERE {_MINE} ORDER BY m.number DESC LIMIT ?3"
    if tx.dialect == "postgresql":  # a character may be stored as two
        sql = f"SELECT m.id, SUBSTR(m.content, 1, {2 * _BEGINNING}), m.created_at {where}"
        return [(note, content[:_BEGINNING], at) for note, content, at in tx.rows(sql, *owner, limit)]
    # SQLite's SUBSTR would end a text at its first NUL, but not bytes
    sql = f"SELECT m.id, SUBSTR(CAST(m.content AS BLOB), 1, {4 * _BEGINNING}), m.created_at {where}"
    rows = tx.rows(sql, *owner, limit)
    return [(note, content.decode("utf-8", "ignore")[:_BEGINNING], at) for note, content, at in rows]


def _prefix(word: str, mark: str) -> str:
    """Words of three letters and more are found by their beginning, too: `deploy` finds `deployment`."""
    return mark if len(word) > 2 else ""


def _vector(words: list[str]) -> str:
    """Words with their places, as PostgreSQL writes them; they hold letters and digits only, so nothing is quoted."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word, []).append(place)
    return " ".join(f"'{word}':{','.join(map(str, at[:200]))}" for word, at in places.items())


def _note(row: Row) -> dict[str, Any]:
    identifier, content, created_at = row
    moment = datetime.fromtimestamp(created_at, UTC).isoformat(timespec="seconds")
    return {"id": identifier, "content": content, "created_at": moment}
