"""The file of a SQLite database: creating it, and checking whether it is complete and ours.

It lies outside every project; no tool and no model ever names it. So this module opens files, unlike the others here.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from typing import NamedTuple

from toolgate.errors import StoreError
from toolgate.protocol.ids import uuid7
from toolgate.sessions import faults, sqlite_log
from toolgate.sessions.connections import connect, connect_memory, file_uri
from toolgate.sessions.schema import HEAD, REVISIONS, statements
from toolgate.system import O_BINARY, O_CLOEXEC, O_DIRECTORY

CHECKED_AT_ONCE = 32 * 1024 * 1024
"""Bytes up to which a file is checked before it is used; a larger one is checked while it is used."""
VERSION_TABLE = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def apply_schema(connection: sqlite3.Connection) -> None:
    """Give an empty database all the tables, as Alembic would, without the time that loading Alembic takes."""
    connection.execute("BEGIN")
    connection.execute(VERSION_TABLE)
    for revision in REVISIONS:
        for statement in statements(revision, "sqlite"):
            connection.execute(statement)
    connection.execute("INSERT INTO alembic_version VALUES (?)", (HEAD,))
    connection.execute("COMMIT")


def create(path: str) -> None:
    """Create the file completely or not at all. It gets its name only after everything is written and flushed."""
    connection = connect_memory()
    try:
        apply_schema(connection)
        image = connection.serialize()
    finally:
        connection.close()
    fresh = f"{path}.{uuid7()}.new"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write(fresh, image)
        _publish(fresh, path)
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be made: {error.strerror}. Make its directory writable for this user, "
            "or set TOOLGATE_DATABASE_URL to another place."
        ) from error


def _write(path: str, image: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_BINARY | O_CLOEXEC, 0o600)
    try:
        rest = memoryview(image)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def _publish(fresh: str, path: str) -> None:
    """Give the file its name, unless another process was faster."""
    try:
        os.link(fresh, path)
    except FileExistsError:
        if not os.path.exists(path):
            raise  # a link that leads nowhere
        return
    finally:
        os.unlink(fresh)
    if not O_DIRECTORY:
        return  # Windows cannot flush a directory
    directory = os.open(os.path.dirname(path), os.O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def size(path: str) -> int | None:
    """The size of the file; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be looked at: {error.strerror}. Set TOOLGATE_DATABASE_URL to another place."
        ) from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"The database {path} is not a file. Set TOOLGATE_DATABASE_URL to another place.")
    return found.st_size


def check_length(path: str) -> None:
    """Raise if the file is shorter than its own header says: SQLite would read zeros where its end was."""
    if size(f"{path}-wal"):
        return  # what is missing may be in SQLite's own log
    try:
        descriptor = os.open(path, os.O_RDONLY | O_BINARY | O_CLOEXEC)
    except OSError:
        return  # opening it as a database will say what is wrong
    try:
        header, length = _first_bytes(descriptor, 32), os.fstat(descriptor).st_size
    except OSError as error:
        raise faults.unreadable(path, error) from error
    finally:
        os.close(descriptor)
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    if header[:16] == b"SQLite format 3\0" and length < pages * (65_536 if page == 1 else page):
        raise faults.damaged(path, "its end is missing")


def _first_bytes(descriptor: int, count: int) -> bytes:
    return os.pread(descriptor, count, 0) if hasattr(os, "pread") else os.read(descriptor, count)


def check_owner(path: str) -> None:
    """Raise if the file is another program's, or of a newer Toolgate; nothing is written, not even beside it.

    The file is opened without locks and without SQLite's log. What is in the log counts as far as it can be read into
    memory: a database that another program has open may have all of its tables there.
    """
    try:
        found = _inspect(path)
    except sqlite3.Error as error:
        raise faults.from_sqlite(error, path) from error
    except OSError as error:
        raise faults.unreadable(path, error) from error
    if found.foreign:
        raise faults.of_another_program(path)
    if found.revision is not None and found.revision not in REVISIONS:
        raise faults.newer(path, found.revision)


class _Owner(NamedTuple):
    """Which program the database belongs to."""

    foreign: bool
    revision: str | None


def _inspect(path: str) -> _Owner:
    log = size(f"{path}-wal")
    image = sqlite_log.merged(path) if log and (size(path) or 0) + log <= CHECKED_AT_ONCE else None
    connection = connect_memory() if image else sqlite3.connect(f"{file_uri(path)}?mode=ro&immutable=1", uri=True)
    try:
        if image:
            connection.deserialize(image)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if _ours(tables) else None
    finally:
        connection.close()
    if row is not None:
        return _Owner(any(marks), str(row[0]))
    return _Owner(bool(tables or any(marks) or (log and image is None)), None)


def check_log(path: str) -> str:
    """A sentence about what SQLite's own log has certainly lost, of which a copy is kept; empty if nothing."""
    before = sqlite_log.log_state(path)
    if before is None:
        return ""
    try:
        connection = connect(path, readonly=True)
        try:
            finding = sqlite_log.lost(before, path, connection)
            copy = sqlite_log.keep_copy(path) if finding else ""
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise faults.from_sqlite(error, path) from error
    return f"{finding}. A copy was kept: {copy or 'none'}" if finding else ""


def known_damage(path: str) -> str:
    """A sentence about what SQLite's own log has lost, now or before an earlier start; empty if nothing is known."""
    if not size(path):
        return ""
    check_owner(path)
    if lost := check_log(path):
        return lost
    kept = sqlite_log.copies(path)
    return f"it was damaged, and what was written last was lost. A copy was kept: {kept[-1]}" if kept else ""


def check_integrity(path: str) -> None:
    """Raise if SQLite's own check finds damage in the file."""
    try:
        connection = connect(path, readonly=True)
        try:
            findings = connection.execute("PRAGMA quick_check(1)").fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise faults.from_sqlite(error, path) from error
    if findings != [("ok",)]:
        raise faults.from_check(str(findings[0][0]) if findings else "no answer", path)


def check_writable(path: str) -> str | None:
    """Return the revision of the file, None if it has none. Raises if the file cannot be written to."""
    try:
        connection = connect(path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if _ours(tables) else None
            # a transaction that changes nothing asks for no space and leaves the lock to others
            connection.execute("ROLLBACK")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise faults.from_sqlite(error, path) from error
    if tables and row is None:
        raise faults.of_another_program(path)
    return None if row is None else str(row[0])


def _ours(tables: set[str]) -> bool:
    """Whether these are Toolgate's tables. The table of Alembic alone is no proof: other programs use Alembic, too."""
    return {"alembic_version", "sessions", "events"} <= tables
