"""SQLite as a driver: a file with one writing thread and two reading ones, or a database in memory."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from toolgate.errors import StoreError, ToolgateError
from toolgate.log import logger
from toolgate.sessions import faults, files
from toolgate.sessions.connections import SqliteTransaction, connect, connect_memory, identity
from toolgate.sessions.driver import Unit
from toolgate.sessions.feed import Feed
from toolgate.sessions.file_watch import FileWatch
from toolgate.sessions.schema import HEAD
from toolgate.sessions.sqlite_revisions import upgrade_sqlite
from toolgate.sessions.writer import Writer

T = TypeVar("T")


class SqliteFile:
    """A database in a file."""

    polls: float | None = 5.0

    def __init__(self, path: str, feed: Feed) -> None:
        self.path = path
        self._file_watch = FileWatch(lambda: connect(path, readonly=True), self._poll_in_thread, feed)
        self._writer = Writer(path, feed)
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="toolgate-reader")
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._broken: StoreError | None = None
        self._closed = False
        self.lost = ""
        """A sentence about what SQLite's own log had lost when the file was opened; empty if nothing."""

    def write(self, unit: Unit[T]) -> Awaitable[T]:
        """Run a unit in the writer's thread."""
        if self._broken is not None:
            raise self._broken
        return self._writer.write(unit)

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit in a reader's thread, on one snapshot."""
        return await self._in_thread(self._read, unit)

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        if self._closed:
            raise faults.closed()
        return await asyncio.get_running_loop().run_in_executor(self._readers, function, *arguments)

    def _read(self, unit: Unit[T]) -> T:
        if self._broken is not None:
            raise self._broken
        try:
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                return unit(SqliteTransaction(connection))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise faults.from_sqlite(error, self.path) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        file = identity(self.path)
        if connection is None or self._local.file != file:
            connection = self._local.connection = connect(self.path, readonly=True)
            self._local.file = file
            self._open.append(connection)
        return connection

    async def listen(self) -> None:
        """A file announces nothing, so its end is polled while there are followers."""
        await self._file_watch.listen()

    async def _poll_in_thread(self, poll: Callable[[], dict[str, int]]) -> dict[str, int]:
        def guarded() -> dict[str, int]:
            try:
                return poll()
            except sqlite3.Error as error:
                raise faults.from_sqlite(error, self.path) from error

        return await self._in_thread(guarded)

    async def migrate(self) -> None:
        """Make the file if there is none; otherwise check it, and bring it to this version's schema."""
        try:
            await self._in_thread(self._migrate)
        except StoreError as error:
            self._broken = error  # a database that could not be opened completely is not used
            raise

    def _migrate(self) -> None:
        self._broken = None
        found = files.size(self.path)
        if found is None:
            files.create(self.path)
            return
        if found == 0:
            raise faults.empty(self.path)
        files.check_owner(self.path)
        files.check_length(self.path)
        if lost := files.check_log(self.path):
            self.lost = lost
            logger("sessions").warning("sqlite_log_damaged", path=self.path, finding=lost)
        if found <= files.CHECKED_AT_ONCE:
            files.check_integrity(self.path)
        else:
            self._readers.submit(self._check_later)
        revision = files.check_writable(self.path)
        if revision != HEAD:
            upgrade_sqlite(self.path)

    def _check_later(self) -> None:
        try:
            files.check_integrity(self.path)
        except faults.DamagedFile as error:
            self._broken = error
        except ToolgateError as error:  # the disk cannot be read now, or another program has locked the file
            logger("sessions").warning("database_not_checked", path=self.path, reason=str(error))

    async def close(self) -> None:
        """Write what is queued, end the threads, close the file."""
        await self._file_watch.close()
        self._closed = True
        await self._writer.close()
        await asyncio.get_running_loop().run_in_executor(None, self._readers.shutdown)
        self._file_watch.stop_watching()
        while self._open:
            self._open.pop().close()


class SqliteMemory:
    """A database in memory. Nothing waits for a disk, so units run where they are called."""

    polls: float | None = None

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._connection = connect_memory()
        self._lock = threading.Lock()
        self._closed = False
        files.apply_schema(self._connection)

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit; what it raises leaves nothing behind."""
        with self._lock:
            if self._closed:
                raise faults.closed()
            transaction = SqliteTransaction(self._connection)
            self._connection.execute("BEGIN")
            try:
                result = unit(transaction)
                self._connection.execute("COMMIT")
            except BaseException as error:
                self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise faults.from_sqlite(error, "in memory") from error
                raise
        self._feed.committed(transaction.sessions, transaction.published)
        return result

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that writes nothing."""
        return await self.write(unit)

    async def listen(self) -> None:
        """Do nothing: no other process can write to a database in memory."""

    async def migrate(self) -> None:
        """Do nothing: the database was created with its tables."""

    async def close(self) -> None:
        """Close the connection, which deletes the database."""
        with self._lock:
            self._closed = True
            self._connection.close()
