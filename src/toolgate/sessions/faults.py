"""What a database says when it fails, in words that say what to do: the one place that knows the drivers' errors."""

from __future__ import annotations

import sqlite3
from typing import Final

from toolgate.errors import SessionBusy, StoreError, ToolgateError

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
    return StoreError(f"The database {path} {what}. {advice}")


def from_postgres(error: Exception, address: str) -> ToolgateError:
    """The error of this package for one of SQLAlchemy's, asyncpg's or the network's."""
    reason = str(getattr(error, "orig", None) or error).splitlines()
    said = reason[0] if reason else type(error).__name__
    if "UndefinedTable" in said:
        return StoreError(f"The database {address} has no tables of Toolgate's. Run `await db.migrate()` first.")
    if "LockNotAvailable" in said or "lock timeout" in said:
        return SessionBusy(f"The database {address} was locked by someone else for too long. Nothing was written.")
    if "ReadOnlySQLTransaction" in said or "read-only transaction" in said:
        return StoreError(
            f"The database {address} is read-only; nothing was written. Point TOOLGATE_DATABASE_URL at the primary "
            "server, or make this one writable again."
        )
    if "TooManyConnections" in said or "QueuePool limit" in said:
        return StoreError(
            f"The database {address} has no connection left; nothing was written. Raise max_connections, or put a pool "
            "in front of it."
        )
    return StoreError(
        f"The database {address} failed: {said}. Check that the server runs and that TOOLGATE_DATABASE_URL is right."
    )


def damaged(path: str, finding: str) -> StoreError:
    """What a check of the file found."""
    what, advice = _ADVICE[sqlite3.SQLITE_CORRUPT]
    return StoreError(f"The database {path} {what} ({finding}). {advice}")


def empty(path: str) -> StoreError:
    """A file without a single byte is what is left of a database, not the beginning of one."""
    return StoreError(
        f"The database {path} is an empty file. It was left as it is: restore a backup, or remove it to start anew."
    )


def replaced(path: str) -> StoreError:
    """The name leads to another file than before, or to none."""
    return StoreError(
        f"The database {path} was removed or replaced while it was in use. Nothing was written; try again, and if it "
        "is gone, restore a backup and start again."
    )


def closed() -> StoreError:
    """Used after its end."""
    return StoreError("The database is closed.")
