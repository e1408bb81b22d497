"""The tables, as the statements of each revision. Alembic runs them on what exists, `create` on what is new.

Both databases get the same names; what differs are a few words (`_WORDS`) and the full-text index.
"""

from __future__ import annotations

from typing import Literal

Dialect = Literal["sqlite", "postgresql"]

_WORDS: dict[Dialect, dict[str, str]] = {
    "sqlite": {"real": "REAL", "whole": "INTEGER", "by_key": " WITHOUT ROWID"},
    "postgresql": {"real": "DOUBLE PRECISION", "whole": "BIGINT", "by_key": ""},
}

_SESSIONS = (
    """
    CREATE TABLE sessions (
        id TEXT NOT NULL PRIMARY KEY,
        mode TEXT,
        user_name TEXT NOT NULL DEFAULT '',
        project TEXT NOT NULL DEFAULT '',
        title TEXT,
        parent_id TEXT,
        created_at {real} NOT NULL,
        updated_at {real} NOT NULL,
        next_seq {whole} NOT NULL DEFAULT 1,
        fence {whole} NOT NULL DEFAULT 0,
        lease_owner TEXT,
        lease_process TEXT,
        lease_from {real},
        lease_until {real}
    ){by_key}
    """,
    """
    CREATE TABLE events (
        session_id TEXT NOT NULL,
        seq {whole} NOT NULL,
        turn_id TEXT,
        kind TEXT NOT NULL,
        version INTEGER NOT NULL,
        payload TEXT NOT NULL,
        fence {whole} NOT NULL,
        created_at {real} NOT NULL,
        PRIMARY KEY (session_id, seq)
    ){by_key}
    """,
    """
    CREATE TABLE messages (
        session_id TEXT NOT NULL,
        seq {whole} NOT NULL,
        turn_id TEXT,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        tool_calls TEXT,
        tool_call_id TEXT,
        created_at {real} NOT NULL,
        PRIMARY KEY (session_id, seq)
    ){by_key}
    """,
    """
    CREATE TABLE turns (
        id TEXT NOT NULL PRIMARY KEY,
        session_id TEXT NOT NULL,
        status TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 1,
        request_id TEXT,
        parent_id TEXT,
        deadline {real},
        cancel_requested_at {real},
        input_tokens {whole} NOT NULL DEFAULT 0,
        output_tokens {whole} NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '',
        started_at {real} NOT NULL,
        finished_at {real},
        UNIQUE (session_id, request_id)
    ){by_key}
    """,
    "CREATE INDEX turns_by_session ON turns (session_id, started_at)",
    "CREATE INDEX turns_running ON turns (session_id) WHERE status = 'running'",
    """
    CREATE TABLE tool_calls (
        session_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        call_id TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        tool_name TEXT NOT NULL,
        state TEXT NOT NULL,
        status TEXT,
        code TEXT,
        proposed_at {real} NOT NULL,
        started_at {real},
        finished_at {real},
        PRIMARY KEY (session_id, turn_id, call_id, ordinal)
    ){by_key}
    """,
    """
    CREATE TABLE approvals (
        id TEXT NOT NULL PRIMARY KEY,
        session_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        call_id TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        agent TEXT NOT NULL,
        summary TEXT NOT NULL,
        detail TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        state TEXT NOT NULL,
        message TEXT NOT NULL DEFAULT '',
        remember INTEGER NOT NULL DEFAULT 0,
        asked_at {real} NOT NULL,
        decided_at {real}
    ){by_key}
    """,
    "CREATE INDEX approvals_by_session ON approvals (session_id, asked_at)",
    "CREATE TABLE todos (session_id TEXT NOT NULL PRIMARY KEY, items TEXT NOT NULL){by_key}",
)

_APPEND_ONLY: dict[Dialect, tuple[str, ...]] = {
    "sqlite": tuple(
        f"CREATE TRIGGER events_never_{verb} BEFORE {verb} ON events "
        "BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END"
        for verb in ("update", "delete")
    ),
    "postgresql": (
        "CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the event log is append-only'; END $$",
        "CREATE TRIGGER events_never_change BEFORE UPDATE OR DELETE ON events "
        "FOR EACH ROW EXECUTE FUNCTION events_append_only()",
    ),
}

_MEMORIES: dict[Dialect, tuple[str, ...]] = {
    "sqlite": (
        "CREATE TABLE memories (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user_name TEXT NOT NULL, "
        "project TEXT NOT NULL, content TEXT NOT NULL, created_at REAL NOT NULL)",
        "CREATE INDEX memories_by_owner ON memories (user_name, project)",
        # the words come ready-made (see words.py); the tokenizer only has to split them at the spaces
        "CREATE VIRTUAL TABLE memories_index USING fts5 "
        "(words, tokenize = \"unicode61 remove_diacritics 0 categories 'L* N* M* Co'\")",
    ),
    "postgresql": (
        "CREATE TABLE memories (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, "
        "user_name TEXT NOT NULL, project TEXT NOT NULL, content TEXT NOT NULL, created_at DOUBLE PRECISION NOT NULL, "
        "words TSVECTOR NOT NULL)",
        "CREATE INDEX memories_by_owner ON memories (user_name, project)",
        "CREATE INDEX memories_by_word ON memories USING gin (words)",
    ),
}

REVISIONS = ("0001", "0002")
"""All of them, oldest first; a module of the same name in `migrations/versions` hands each one to Alembic."""
HEAD = REVISIONS[-1]


def statements(revision: str, dialect: Dialect) -> tuple[str, ...]:
    """What leads from the revision before to this one."""
    if revision == "0001":
        words = _WORDS[dialect]
        return tuple(" ".join(text.format(**words).split()) for text in _SESSIONS) + _APPEND_ONLY[dialect]
    return {"0002": _MEMORIES}[revision][dialect]
