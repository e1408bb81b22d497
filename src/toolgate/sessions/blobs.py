"""Whole outputs in the database, for gateways without a workspace: stored by the hash of their content, in pieces.

A blob is written in one transaction: a reader that sees its first piece can read all of it, and a killed worker leaves
nothing behind. Storing and removing a blob both hold the lock of its hash. So the same content is stored only once, and
a blob is never removed while someone is about to refer to it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

from toolgate.errors import OutputMissing, SessionFenced, ToolgateError, WorkspaceError
from toolgate.sessions.clock import NOW
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.sessions import Database
    from toolgate.sessions.driver import Transaction
    from toolgate.sessions.types import Lease

Pieces = Callable[[], Iterator[bytes]]
"""Opens the content for reading; every call gives the same bytes."""

_WORKSPACE = ".workspace"
"""The reference of the files of a session. It is not an output: nobody can fetch it, and age does not remove it."""
_NOT_STORED = ""
"""The hash of an output that is too large to be stored."""
_AT_ONCE = 50
"""Outputs, and blobs, that one transaction removes at most."""
_KEY = "hashtextextended(?1, 0)"
_UNUSED = "NOT EXISTS (SELECT 1 FROM outputs WHERE outputs.hash = blobs.hash)"


class Blobs:
    """The `BlobStore` of gateways without a workspace; workers write to it."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def pieces(self, session_id: str, reference: str) -> AsyncIterator[bytes]:
        """The whole output, in pieces."""
        sql = "SELECT hash, size FROM outputs WHERE session_id = ?1 AND reference = ?2"
        row = await self._db.read(lambda tx: tx.row(sql, session_id, reference))
        if row is None or reference == _WORKSPACE:
            raise OutputMissing(
                f"This output was removed, or could not be stored. If the workspace still has it, it is '{reference}'."
            )
        digest, size = str(row[0]), int(row[1])
        if digest == _NOT_STORED:
            raise OutputMissing(
                f"This output is too large to be shown here ({size:,} bytes). It is in the workspace, as '{reference}'."
            )
        return self._pieces(digest, size)

    async def _pieces(self, digest: str, size: int) -> AsyncIterator[bytes]:
        number = 0
        while size > 0:
            piece = await self._db.read(functools.partial(_piece, digest=digest, number=number))
            if not piece:
                raise OutputMissing("This output was removed while it was read.")
            yield piece
            size -= len(piece)
            number += 1

    async def store(self, session_id: str, reference: str, pieces: Pieces) -> None:
        """Store an output, unless its content is stored already. It is durable when this returns; if this raises,
        nothing is stored.
        """
        digest, size = await in_thread(_measure, pieces)
        await self._db.write(lambda tx: _store(tx, digest, pieces, (session_id, reference, digest, size)))

    async def snapshot(self, session_id: str) -> tuple[str, int] | None:
        """The hash and the size of the stored files of a session; None if none were stored."""
        sql = "SELECT hash, size FROM outputs WHERE session_id = ?1 AND reference = ?2"
        row = await self._db.read(lambda tx: tx.row(sql, session_id, _WORKSPACE))
        return None if row is None else (str(row[0]), int(row[1]))

    async def fetch(self, digest: str, size: int, write: Callable[[bytes], object]) -> None:
        """Write a stored content; raises `WorkspaceError` if a part of it is missing or was changed."""
        found = hashlib.sha256()
        try:
            async for piece in self._pieces(digest, size):
                found.update(piece)
                write(piece)
        except OutputMissing as error:
            raise WorkspaceError("a part of them is missing in the database") from error
        if found.hexdigest() != digest:
            raise WorkspaceError("they were changed in the database")

    async def store_snapshot(self, lease: Lease, digest: str, size: int, pieces: Pieces) -> None:
        """Store the files of a session; raises `SessionFenced` if the session belongs to someone else by now."""

        def unit(transaction: Transaction) -> None:
            sql = "SELECT 1 FROM sessions WHERE id = ?1 AND lease_owner = ?2 AND fence = ?3 FOR UPDATE"
            if transaction.row(sql, lease.session_id, lease.owner, lease.fence) is None:
                raise SessionFenced("The session was taken over; its files are not stored.")
            _store(transaction, digest, pieces, (lease.session_id, _WORKSPACE, digest, size))

        await self._db.write(unit)

    async def note(self, session_id: str, reference: str, size: int) -> None:
        """Note that an output is too large to be stored."""
        await self._db.write(lambda tx: _refer(tx, session_id, reference, _NOT_STORED, size))

    async def tidy(self, seconds: float) -> bool:
        """Remove some outputs that are older than this, and some blobs without a reference; return whether there were
        any.

        Several workers may do this at the same time.
        """
        return await self._db.write(lambda tx: _tidy(tx, seconds))


def _piece(transaction: Transaction, digest: str, number: int) -> bytes:
    row = transaction.row("SELECT data FROM blobs WHERE hash = ?1 AND piece = ?2", digest, number)
    return b"" if row is None else bytes(row[0])


def _measure(stop: Stop, pieces: Pieces) -> tuple[str, int]:
    """The hash and the length of the content."""
    digest, size = hashlib.sha256(), 0
    for piece in pieces():
        stop.check()
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def _store(transaction: Transaction, digest: str, pieces: Pieces, output: tuple[str, str, str, int]) -> None:
    transaction.row(f"SELECT pg_advisory_xact_lock({_KEY})", digest)
    if not _piece(transaction, digest, 0):
        written = hashlib.sha256()
        for number, piece in enumerate(pieces()):  # the content was just measured, so it is in the page cache
            written.update(piece)
            transaction.run("INSERT INTO blobs (hash, piece, data) VALUES (?1, ?2, ?3)", digest, number, piece)
        if written.hexdigest() != digest:
            raise ToolgateError("it changed while it was stored")
    _refer(transaction, *output)


def _refer(transaction: Transaction, session_id: str, reference: str, digest: str, size: int) -> None:
    transaction.run(
        "INSERT INTO outputs (session_id, reference, hash, size, stored_at) "
        f"VALUES (?1, ?2, ?3, ?4, {NOW}) ON CONFLICT (session_id, reference) DO UPDATE "
        "SET hash = excluded.hash, size = excluded.size, stored_at = excluded.stored_at",
        *(session_id, reference, digest, size),
    )


def _tidy(transaction: Transaction, seconds: float) -> bool:
    old = transaction.run(
        "DELETE FROM outputs WHERE (session_id, reference) IN (SELECT session_id, reference FROM outputs "
        f"WHERE stored_at < {NOW} - ?1 AND reference <> '{_WORKSPACE}' ORDER BY stored_at "
        f"LIMIT {_AT_ONCE} FOR UPDATE SKIP LOCKED)",
        seconds,
    )
    unused = transaction.rows(f"SELECT hash FROM blobs WHERE piece = 0 AND {_UNUSED} LIMIT {_AT_ONCE}")
    removed = sum(_remove(transaction, digest) for (digest,) in unused)
    return old + removed > 0


def _remove(transaction: Transaction, digest: str) -> int:
    """Remove a blob and return the number of its pieces, unless someone stores it now or has referred to it since."""
    lock = transaction.row(f"SELECT pg_try_advisory_xact_lock({_KEY})", digest)
    if lock is None or not lock[0]:
        return 0
    return transaction.run(f"DELETE FROM blobs WHERE hash = ?1 AND {_UNUSED}", digest)
