"""PostgreSQL as a driver, through SQLAlchemy's asynchronous engine."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from toolgate.extras import optional_imports
from toolgate.sessions import faults
from toolgate.sessions.driver import Row, Unit
from toolgate.sessions.event_log import cleaned
from toolgate.sessions.feed import Feed
from toolgate.sessions.migrate import check_known, upgrade
from toolgate.sessions.schema import HEAD, Dialect

with optional_imports():
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy import Connection, TextClause, text
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

T = TypeVar("T")

_FAULTS = (SQLAlchemyError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""Errors that mean that the server is unavailable. For one that is starting or stopping asyncpg raises its own."""

_MIGRATING = 0x7001_6A7E
"""The advisory lock that keeps two processes from migrating at once."""
_CHANNEL = "toolgate"
_CONNECTING = 10.0
"""Seconds within which a server has to accept a connection."""
PATIENCE = 20.0
"""Seconds that a transaction may take. A server that stays silent is unavailable; one that waits for a lock says so."""
_OFTEN, _SELDOM = 0.5, 15.0
"""Seconds between two polls of a follower."""
_PLACEHOLDER = re.compile(r"\?(\d+)")
_ESCAPE = "\U0010fffe"
"""The first character of the escape for NUL. It is a noncharacter of Unicode, so hardly any text has it."""
_ESCAPED = re.compile(f"{_ESCAPE}([01])")


@functools.lru_cache(maxsize=512)
def _statement(sql: str) -> TextClause:
    return text(_PLACEHOLDER.sub(r":p\1", sql.replace(":", "\\:")))


def _named(values: tuple[Any, ...]) -> dict[str, Any]:
    return {f"p{number}": _escaped(value) for number, value in enumerate(cleaned(values), 1)}


def _escaped(value: Any) -> Any:
    """A value that PostgreSQL stores: its text has no NUL, so that is written as two other characters."""
    if isinstance(value, str) and ("\0" in value or _ESCAPE in value):
        return value.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return value


def _restored(value: Any) -> Any:
    """A value as it was before `_escaped`."""
    if isinstance(value, str) and _ESCAPE in value:
        return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else _ESCAPE, value)
    return value


def _row(found: Iterable[Any]) -> Row:
    return tuple(map(_restored, found))


class PostgresTransaction:
    """A unit's view of a connection; SQLAlchemy waits for the server beneath it without stopping the loop."""

    dialect: Dialect = "postgresql"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.sessions: dict[str, int] = {}
        self.published: list[Row] = []
        """The events that were written, for followers in this process."""

    def with_driver(self, use: Callable[[Any], Awaitable[T]]) -> T:
        """The result of a coroutine function that gets asyncpg's connection, for a package that speaks asyncpg.

        What it runs is a part of this transaction.
        """
        adapted: Any = self._connection.connection.dbapi_connection
        if not adapted.driver_connection.is_in_transaction():  # SQLAlchemy begins it with the first statement
            self._connection.exec_driver_sql("SELECT 1")
        result: T = adapted.run_async(use)
        return result

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Run a statement and return all rows."""
        return [_row(row) for row in self._connection.execute(_statement(sql), _named(values))]

    def row(self, sql: str, *values: Any) -> Row | None:
        """Run a statement and return its first row."""
        found = self._connection.execute(_statement(sql), _named(values)).first()
        return None if found is None else _row(found)

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        return self._connection.execute(_statement(sql), _named(values)).rowcount

    def many(self, sql: str, rows: list[Row]) -> None:
        """Run a statement once for each row of values."""
        self._connection.execute(_statement(sql), [_named(values) for values in rows])

    def insert(self, sql: str, *values: Any) -> int:
        """Run an `INSERT` and return the row's id."""
        row = self.row(f"{sql} RETURNING id", *values)
        assert row is not None
        return int(row[0])

    def clock(self, session_id: str) -> float:
        """The server's time, the one clock that all of its clients share, once the session's row is locked."""
        locked = "SELECT 1 FROM sessions WHERE id = ?1 FOR UPDATE"
        row = self.row(f"SELECT EXTRACT(EPOCH FROM clock_timestamp()) FROM ({locked}) locked", session_id)
        return 0.0 if row is None else float(row[0])

    def touched(self, session_id: str, seq: int) -> None:
        """Remember that this session has new events."""
        self.sessions[session_id] = seq


class Postgres:
    """A database on a server."""

    def __init__(self, url: str, feed: Feed) -> None:
        """Raises `ValueError` if the address is invalid."""
        self._feed = feed
        self._engine = create_async_engine(
            url,
            pool_size=8,
            max_overflow=24,
            pool_pre_ping=True,
            connect_args={"server_settings": _SERVER_SETTINGS, "timeout": _CONNECTING},
        )
        where = self._engine.url
        if "@" in (where.host or "") or not 0 < (where.port or 5432) < 65536:
            raise ValueError("a host is a name or a number, and a port is below 65536")
        self.address = where.render_as_string(hide_password=True)
        self._closed = False
        self._listening: AsyncConnection | None = None
        self._raw: Any = None
        self._beginning_to_listen = asyncio.Lock()

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit in a transaction."""
        sessions: dict[str, int] = {}
        published: list[Row] = []

        def run(connection: Connection) -> T:
            transaction = PostgresTransaction(connection)
            result = unit(transaction)
            sessions.update(transaction.sessions)
            published.extend(transaction.published)
            for session_id, seq in sessions.items():
                transaction.rows("SELECT pg_notify(?1, ?2)", _CHANNEL, f"{session_id}:{seq}")
            return result

        result = await self._run(run, PATIENCE)
        self._feed.committed(sessions, published)
        return result

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that writes nothing."""
        return await self._run(lambda connection: unit(PostgresTransaction(connection)), PATIENCE)

    async def _run(self, function: Callable[[Connection], T], seconds: float | None) -> T:
        if self._closed:
            raise faults.closed()
        try:
            async with asyncio.timeout(seconds), self._engine.begin() as connection:
                return await connection.run_sync(function)
        except _FAULTS as error:
            raise faults.from_postgres(error, self.address) from error

    async def listen(self) -> None:
        """Keep a connection on which the server announces writes. Without it, followers still poll."""
        if self._closed or self._hears():
            return
        async with self._beginning_to_listen:
            if self._closed or self._hears():
                return
            await self._stop_listening()
            try:
                async with asyncio.timeout(PATIENCE):
                    self._listening, self._raw = await self._listener()
            except _FAULTS as error:
                raise faults.from_postgres(error, self.address) from error

    async def _listener(self) -> tuple[AsyncConnection, Any]:
        """A new connection on which the server announces writes, and the asyncpg connection beneath it."""
        connection = await self._engine.connect()
        try:
            raw: Any = (await connection.get_raw_connection()).driver_connection
            await raw.add_listener(_CHANNEL, self._heard)
        except BaseException:
            await _discard(connection)
            raise
        raw.add_termination_listener(lambda _connection: self._feed.wake_all())  # followers then poll
        return connection, raw

    @property
    def polls(self) -> float | None:
        """The polling interval: long while the server announces writes, but the connection may fail unnoticed."""
        return _SELDOM if self._hears() else _OFTEN

    def _hears(self) -> bool:
        """Whether there is a connection that listens, and the server has not ended it."""
        return self._listening is not None and not self._raw.is_closed()

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            listening, self._listening = self._listening, None
            await _discard(listening)

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        session_id, _, seq = str(payload).rpartition(":")
        if seq.isdecimal():
            self._feed.announced({session_id: int(seq)})
        else:
            self._feed.wake_all()

    async def migrate(self) -> None:
        """Migrate the schema to this version. If several processes try, one does it and the others wait."""
        await self._run(self._migrate, None)  # a large database takes its time

    def _migrate(self, connection: Connection) -> None:
        transaction = PostgresTransaction(connection)
        transaction.rows("SELECT pg_advisory_xact_lock(?1)", _MIGRATING)
        table = transaction.row("SELECT to_regclass('alembic_version')")
        row = None if table is None or table[0] is None else transaction.row("SELECT version_num FROM alembic_version")
        revision = None if row is None else str(row[0])
        if revision is not None and transaction.row("SELECT to_regclass('events')") == (None,):
            raise faults.of_another_program(self.address)
        if revision != HEAD:
            check_known(revision, self.address)
            upgrade(connection)

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._stop_listening()
        await self._engine.dispose()


async def _discard(listening: AsyncConnection) -> None:
    """Close a connection that listens: it is not for the pool."""
    await listening.invalidate()
    await listening.close()


_SERVER_SETTINGS = {
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "10s",
    "application_name": "toolgate",
}
"""Without these limits, a client that crashes within a transaction would keep its locks for hours."""
