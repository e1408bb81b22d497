"""Connections to SQLite, with Toolgate's options."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Any
from urllib.parse import quote

from toolgate.sessions import faults
from toolgate.sessions.driver import Row
from toolgate.sessions.event_log import cleaned
from toolgate.sessions.schema import Dialect

WRITE_TIMEOUT = 10.0
"""Seconds that a write waits for the lock of another process."""
READ_TIMEOUT = 2.0
_WAL_PAGES = 4000
"""Pages (16 MB) after which SQLite moves its own log into the file. The commit that does so takes longer."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def connect(path: str, *, readonly: bool = False) -> sqlite3.Connection:
    """Open an existing database. This never creates one, on the disk or in memory."""
    if _is_empty(path):
        raise faults.empty(path)  # SQLite would take it for a new one and write to it
    connection = sqlite3.connect(
        f"{file_uri(path)}?mode=rw",
        uri=True,
        isolation_level=None,  # transactions begin and end where the code says so
        check_same_thread=False,
        cached_statements=256,
        timeout=READ_TIMEOUT if readonly else WRITE_TIMEOUT,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        if readonly:
            connection.execute("PRAGMA query_only = ON")
        elif _may_be_ours(connection):  # the file of another program stays unchanged
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


def file_uri(path: str) -> str:
    """A path as a `file:` URI, the form in which SQLite takes options."""
    return f"file:{quote(os.path.abspath(path))}"


def _may_be_ours(connection: sqlite3.Connection) -> bool:
    """Whether the database has our tables, or none yet."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return not names or "events" in names


def identity(path: str) -> tuple[int, int] | None:
    """The identity of the file; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return False  # opening the file reports the reason


class _MemoryConnection(sqlite3.Connection):
    """A connection that may be dropped without closing it: a database in memory has nothing to save.

    Since Python 3.13 a connection that is collected and still open warns.
    """

    def __del__(self) -> None:
        self.close()


def connect_memory() -> sqlite3.Connection:
    """A database that lives as long as its connection."""
    return sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, cached_statements=256, factory=_MemoryConnection
    )


class SqliteTransaction:
    """A unit's view of a connection."""

    dialect: Dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection_execute = connection.execute
        self._executemany = connection.executemany
        self.sessions: dict[str, int] = {}
        """Sessions with new events, and the number of the last one."""
        self.published: list[Row] = []
        """The events that were written, for followers in this process, including those that join before the commit."""

    def _execute(self, sql: str, values: tuple[Any, ...]) -> sqlite3.Cursor:
        try:
            return self._connection_execute(sql, values)
        except UnicodeEncodeError:  # an id from outside; what is stored was cleaned before
            return self._connection_execute(sql, cleaned(values))

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Run a statement and return all rows."""
        return self._execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> Row | None:
        """Run a statement and return its first row."""
        rows = self._execute(sql, values).fetchall()  # to the end, so that the statement does not stay open
        return rows[0] if rows else None

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        return self._execute(sql, values).rowcount

    def many(self, sql: str, rows: list[Row]) -> None:
        """Run a statement once for each row of values."""
        self._executemany(sql, rows)

    def insert(self, sql: str, *values: Any) -> int:
        """Run an `INSERT` and return the row's id."""
        return self._execute(sql, values).lastrowid or 0

    def clock(self, session_id: str) -> float:
        """Seconds since the machine started: one clock for all its processes, which nobody can set."""
        return time.clock_gettime(_CLOCK)

    def touched(self, session_id: str, seq: int) -> None:
        """Remember that this session has new events."""
        self.sessions[session_id] = seq
