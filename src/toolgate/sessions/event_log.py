"""Writes to the log of a session: checks the lease, takes the next numbers and writes events in one transaction."""

from __future__ import annotations

import json.encoder
import time
from typing import Any, Final

from toolgate.errors import SessionBusy, SessionError, SessionFenced, SessionNotFound
from toolgate.protocol.jsontext import encode, is_unicode, scrub
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.schema import SPAN, Dialect
from toolgate.sessions.types import Lease

VERSION: Final = 1
"""The version of every payload so far."""

ANYONE: Final = object()
"""Passed instead of a lease for a write that belongs to no turn, such as a person's answer."""

_LEASED = "WHERE id = ?1 AND fence = ?2 AND lease_owner = ?3"
_FREE = "WHERE id = ?1 AND (lease_owner IS NULL OR lease_until <= ?2 OR lease_from > ?2)"
_ANY = "WHERE id = ?1"
_SERVER_TIME: Final = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"
_STATE: Final = "SELECT number, next_seq, fence, title IS NULL AS nameless"
_LOOKS: Final[dict[Dialect, str]] = {
    "sqlite": f"{_STATE}, NULL FROM sessions {{who}}",  # it has one writer at a time, and no clock of its own
    "postgresql": f"SELECT locked.*, {_SERVER_TIME} FROM ({_STATE} FROM sessions {{who}} FOR UPDATE) locked",
}
_LOOK: Final = {
    (dialect, who): look.format(who=who) for who in (_LEASED, _FREE, _ANY) for dialect, look in _LOOKS.items()
}
TAKE: Final = "UPDATE sessions SET next_seq = ?2, updated_at = ?3 WHERE number = ?1"
INSERT: Final = (
    "INSERT INTO events (place, session_id, seq, turn_id, kind, version, payload, fence, created_at, id) "
    f"VALUES (?1, ?2, ?3, ?4, ?5, {VERSION}, ?6, ?7, ?8, ?9)"
)
_ADD = INSERT.replace(", id)", ")").replace(", ?9)", ")")


class EventWriter:
    """Writes to one session in one transaction. Creating a writer checks the lease and takes `count` numbers."""

    __slots__ = ("_fence", "_next", "_number", "_taken", "nameless", "now", "session_id", "transaction", "turn_id")

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
        row = _look(transaction, session_id, lease)
        if row is None:
            raise _refusal(transaction, session_id, lease)
        self._number, self._next, self._fence, self.nameless, server_time = row
        self.now: float = time.time() if server_time is None else server_time
        self._take(count)

    def _take(self, count: int) -> None:
        """Take the next numbers. `count` MUST NOT be more than are used: the numbers of a log have no gaps."""
        self._taken: int = self._next + count
        self.transaction.run(TAKE, self._number, self._taken, self.now)
        self.transaction.touched(self.session_id, self._taken - 1)

    def event(self, kind: str, payload: str) -> tuple[int, int]:
        """Write one event; returns its id and its number. The payload is JSON."""
        seq: int = self._next
        if seq == self._taken:
            self._take(1)
        self._next += 1
        identifier = self.transaction.insert(
            _ADD,
            self._number * SPAN + seq,
            self.session_id,
            seq,
            self.turn_id,
            kind,
            payload,
            self._fence,
            self.now,
        )
        row = (self.session_id, seq, self.turn_id, kind, VERSION, payload, self._fence, self.now)
        publish(self.transaction, row)
        return identifier, seq


def publish(transaction: Transaction, row: Row) -> None:
    """Pass an event to the followers in this process after the commit, if the driver supports it.

    A driver without this has no `published`; its followers read the log.
    """
    published: list[Row] | None = getattr(transaction, "published", None)
    if published is not None:
        published.append(row)


def _look(transaction: Transaction, session_id: str, lease: Lease | object | None) -> Row | None:
    """Lock the session's row and read it, if the lease may write.

    Returns the session's number, the next event, the fence, whether it has no title, and the server's time.
    """
    if isinstance(lease, Lease):
        if lease.session_id != session_id:
            return None
        return transaction.row(_LOOK[transaction.dialect, _LEASED], session_id, lease.fence, lease.owner)
    if lease is ANYONE:
        return transaction.row(_LOOK[transaction.dialect, _ANY], session_id)
    return transaction.row(_LOOK[transaction.dialect, _FREE], session_id, transaction.clock(session_id))


def _refusal(transaction: Transaction, session_id: str, lease: Lease | object | None) -> SessionError:
    if transaction.row("SELECT 1 FROM sessions WHERE id = ?1", session_id) is None:
        return SessionNotFound(f"There is no session {session_id!r}.")
    if isinstance(lease, Lease):
        return SessionFenced("The session was taken over or given back since; nothing was written. Claim it again.")
    return SessionBusy("The session is in use by someone else; nothing was written. Wait until its turn has ended.")


def time_of(transaction: Transaction) -> float:
    """Seconds since the epoch, by the clock that all processes with this database share."""
    row = transaction.row(f"SELECT {_SERVER_TIME}") if transaction.dialect == "postgresql" else None
    return time.time() if row is None else float(row[0])


def as_json(payload: Any) -> str:
    """A payload as it is stored: JSON, with lone surrogates replaced by U+FFFD."""
    text = encode(payload)
    return text if is_unicode(text) else encode(scrub(payload))


def clean(text: str) -> str:
    """Text that every database can store: lone surrogates become U+FFFD."""
    return text if is_unicode(text) else str(scrub(text))


def cleaned(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of a statement, with text that every database can store."""
    return tuple(clean(value) if isinstance(value, str) else value for value in values)


def message_json(role: str, content: str) -> str:
    """The payload of a plain message; `role` is one of ours and `content` is clean."""
    return f'{{"role":"{role}","content":{_quoted(content)}}}'


_quoted = json.encoder.encode_basestring
