"""The log of a session: checking the lease, taking the next numbers, writing events, all in one transaction."""

from __future__ import annotations

import time
from typing import Any, Final

from toolgate.errors import SessionBusy, SessionError, SessionFenced, SessionNotFound
from toolgate.protocol.jsontext import encode, is_unicode, scrub
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import Lease

VERSION: Final = 1
"""Of all payloads so far."""

ANYONE: Final = object()
"""In place of a lease: the write is nobody's turn, such as a person's answer."""

_TAKE = "UPDATE sessions SET next_seq = next_seq + ?3, updated_at = ?2 WHERE id = ?1"
_GIVE = " RETURNING next_seq, fence"
_TAKE_LEASED = f"{_TAKE} AND fence = ?4 AND lease_owner = ?5{_GIVE}"
_TAKE_FREE = f"{_TAKE} AND (lease_owner IS NULL OR lease_until <= ?4 OR lease_from > ?4){_GIVE}"
_INSERT = (
    "INSERT INTO events (session_id, seq, turn_id, kind, version, payload, fence, created_at) "
    f"VALUES (?1, ?2, ?3, ?4, {VERSION}, ?5, ?6, ?7)"
)


class Pen:
    """Writes to one session in one transaction. Making one checks the lease and takes the numbers."""

    __slots__ = ("_fence", "_next", "now", "session_id", "transaction", "turn_id")

    def __init__(
        self,
        transaction: Transaction,
        session_id: str,
        lease: Lease | object | None,
        *,
        turn_id: str | None = None,
        count: int = 1,
    ) -> None:
        self.transaction = transaction
        self.session_id = session_id
        self.turn_id = turn_id
        self.now = time.time()
        row = _take(transaction, session_id, lease, self.now, count)
        if row is None:
            raise _refusal(transaction, session_id, lease)
        self._next, self._fence = row[0] - count, row[1]
        transaction.touched(session_id)

    def event(self, kind: str, payload: str) -> int:
        """Write one event and return its number. The payload is JSON."""
        seq: int = self._next
        self._next += 1
        self.transaction.run(_INSERT, self.session_id, seq, self.turn_id, kind, payload, self._fence, self.now)
        return seq


def _take(
    transaction: Transaction, session_id: str, lease: Lease | object | None, now: float, count: int
) -> tuple[Any, ...] | None:
    if isinstance(lease, Lease):
        if lease.session_id != session_id:
            return None
        return transaction.row(_TAKE_LEASED, session_id, now, count, lease.fence, lease.owner)
    if lease is ANYONE:
        return transaction.row(f"{_TAKE}{_GIVE}", session_id, now, count)
    return transaction.row(_TAKE_FREE, session_id, now, count, transaction.clock())


def _refusal(transaction: Transaction, session_id: str, lease: Lease | object | None) -> SessionError:
    if transaction.row("SELECT 1 FROM sessions WHERE id = ?1", session_id) is None:
        return SessionNotFound(f"There is no session {session_id!r}.")
    if isinstance(lease, Lease):
        return SessionFenced("The session was taken over or given back since; nothing was written. Claim it again.")
    return SessionBusy("The session is in use by someone else; nothing was written. Wait until its turn has ended.")


def as_json(payload: Any) -> str:
    """A payload as it is stored; what text cannot be stored is replaced by U+FFFD."""
    text = encode(payload)
    return text if is_unicode(text) else encode(scrub(payload))


def clean(text: str) -> str:
    """Text that every database can store: without lone surrogates and NUL, which become U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if is_unicode(text) else str(scrub(text))
