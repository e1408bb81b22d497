"""Maps errors of the database drivers to errors that say what to do. Only this module knows the drivers' errors."""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from toolgate.errors import SessionBusy, StoreError, ToolgateError
from toolgate.sessions.schema import HEAD

_ADVICE: Final = {
    sqlite3.SQLITE_READONLY: (
        "cannot be written to",
        "Make the file and its directory writable for this user, or set TOOLGATE_DATABASE_URL to another place.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "Check that the file is there and that this user may read and write it and its directory; "
        "`await Database(url).migrate()` makes a new one.",
    ),
    sqlite3.SQLITE_PERM: ("may not be opened by this user", "Change its permissions, or set TOOLGATE_DATABASE_URL."),
    sqlite3.SQLITE_FULL: (
        "cannot grow: the disk is full",
        "Nothing was written. Free some space and try again; nothing has to be restarted.",
    ),
    sqlite3.SQLITE_IOERR: (
        "cannot be read or written: the disk reports an error",
        "Nothing was written. Check the disk and the limits on file sizes, then try again.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged",
        "Nothing was changed. Keep a copy of the file, then restore a backup or save what can be read with "
        "`sqlite3 FILE .recover`, or set TOOLGATE_DATABASE_URL to a new one.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a database",
        "Nothing was changed. Restore a backup, or set TOOLGATE_DATABASE_URL to another file.",
    ),
}


class DamagedFile(StoreError):
    """The file itself is damaged: it is not used any more."""


def from_sqlite(error: sqlite3.Error, path: str) -> ToolgateError:
    """The error of this package for one of SQLite's."""
    primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return SessionBusy(
            f"The database {path} was locked by someone else for too long. Nothing was written; try again."
        )
    if "no such table" in str(error) or "no such column" in str(error):
        return StoreError(f"The database {path} has no tables of Toolgate's ({error}). Run `await db.migrate()` first.")
    what, advice = _ADVICE.get(primary, (f"failed ({error})", "Nothing was written."))
    kind = DamagedFile if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) else StoreError
    return kind(f"The database {path} {what}. {advice}")


_REFUSALS: Final = {
    "28000": "{reason}. Check the user and the password in TOOLGATE_DATABASE_URL, and the server's pg_hba.conf.",
    "28P01": "{reason}. Check the user and the password in TOOLGATE_DATABASE_URL.",
    "3D000": "{reason}. Make it with `createdb`, or correct the name at the end of TOOLGATE_DATABASE_URL.",
    "42501": "{reason}. Give the user of TOOLGATE_DATABASE_URL the right to make and use tables there.",
    "53300": "no connection is left; nothing was written. Raise max_connections, or run fewer processes.",
    "53100": "its disk is full; nothing was written. Free some space there; nothing has to be restarted.",
    "57P03": "the server is starting or ending. Try again in a moment.",
}
"""What PostgreSQL's error codes mean for the operator."""


def from_postgres(error: Exception, address: str) -> ToolgateError:
    """The error of this package for one of SQLAlchemy's, asyncpg's or the network's."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).splitlines()
    reason, code = (lines[0] if lines else type(error).__name__), str(getattr(cause, "sqlstate", None) or "")
    place = address.replace("+asyncpg", "")
    if code == "42P01" or "UndefinedTable" in reason:
        return StoreError(
            f"The database {place} has no tables of Toolgate's. Starting `toolgate serve` or `toolgate worker` makes "
            "them; so does `await db.migrate()`."
        )
    if code == "55P03" or "LockNotAvailable" in reason or "lock timeout" in reason:
        return SessionBusy(f"The database {place} was locked by someone else for too long. Nothing was written.")
    if code == "25006" or "ReadOnlySQLTransaction" in reason or "read-only transaction" in reason:
        return StoreError(
            f"The database {place} is read-only; nothing was written. Point TOOLGATE_DATABASE_URL at the primary "
            "server, or make this one writable again."
        )
    if code in _REFUSALS or "QueuePool limit" in reason:
        return StoreError(
            f"The database {place} refused: {_REFUSALS.get(code, _REFUSALS['53300']).format(reason=reason)}"
        )
    if isinstance(cause, TimeoutError):
        reason = "no answer; perhaps it is no PostgreSQL, or something drops what is sent to it"
    return StoreError(
        f"The database {place} failed: {reason}. Check that the server runs and that TOOLGATE_DATABASE_URL is right."
    )


_ERROR_CODE: Final = r"error code[ =](\d+)"
"""How a check writes an error of SQLite's; any other finding is damage."""


def from_check(finding: str, path: str) -> ToolgateError:
    """The error for what a check of the file found: a disk that cannot be read, or damage."""
    code = re.search(_ERROR_CODE, finding)
    primary = sqlite3.SQLITE_CORRUPT if code is None else int(code[1]) & 0xFF
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(path, finding)
    error = sqlite3.OperationalError(finding)
    error.sqlite_errorcode = primary
    return from_sqlite(error, path)


def unreadable(path: str, error: OSError) -> StoreError:
    """The operating system cannot read the file; that says nothing about what is in it."""
    return StoreError(
        f"The database {path} cannot be read ({error.strerror}). Nothing was changed. Check the disk, then try again."
    )


def of_another_program(address: str) -> StoreError:
    """A database with tables that are not ours."""
    return StoreError(
        f"The database {address} belongs to another program. Nothing was changed. "
        "Set TOOLGATE_DATABASE_URL to another file or database."
    )


def newer(address: str, revision: str) -> StoreError:
    """A database of a version of Toolgate that this one does not know."""
    return StoreError(
        f"The database {address} has revision {revision}, which this version of Toolgate does not know "
        f"(it knows up to {HEAD}). Install a newer Toolgate."
    )


def damaged(path: str, finding: str) -> DamagedFile:
    """A file in which a check found damage."""
    what, advice = _ADVICE[sqlite3.SQLITE_CORRUPT]
    return DamagedFile(f"The database {path} {what} ({finding}). {advice}")


def empty(path: str) -> StoreError:
    """An empty file is the rest of a lost database, not a new one."""
    return StoreError(
        f"The database {path} is an empty file. It was left as it is: restore a backup, or remove it to start anew."
    )


def replaced(path: str) -> StoreError:
    """The path now names another file, or none."""
    return StoreError(
        f"The database {path} was removed or replaced while it was in use. Nothing was written; try again, and if it "
        "is gone, restore a backup and start again."
    )


def closed() -> StoreError:
    """The database was used after it was closed."""
    return StoreError("The database is closed.")
