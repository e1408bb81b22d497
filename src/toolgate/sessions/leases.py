"""Leases: one owner per session, for a limited time, with a number that only increases."""

from __future__ import annotations

import functools
import os
import time

from toolgate.errors import SessionFenced, SessionNotFound
from toolgate.protocol.ids import uuid7
from toolgate.protocol.unvalidated import trusted
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import Lease

_FREE = "(lease_owner IS NULL OR lease_until <= ?3 OR lease_from > ?3 OR lease_owner = ?6)"
_CLAIM = (
    "UPDATE sessions SET fence = fence + 1, lease_owner = ?2, lease_from = ?3, lease_until = ?4, lease_process = ?5 "
    f"WHERE id = ?1 AND {_FREE} RETURNING fence"
)


def claim(transaction: Transaction, session_id: str, ttl: float) -> Lease | None:
    """Take the session, unless another process has it."""
    now = transaction.clock(session_id)
    found = transaction.row("SELECT lease_owner, lease_process FROM sessions WHERE id = ?1", session_id)
    if found is None:
        raise SessionNotFound(f"There is no session {session_id!r}.")
    holder, process = found
    dead = holder if transaction.dialect == "sqlite" and is_gone(process) else ""
    owner = uuid7()
    row = transaction.row(_CLAIM, session_id, owner, now, now + ttl, this_process(), dead)
    if row is None:
        return None
    fields = {"session_id": session_id, "owner": owner, "fence": row[0], "expires_at": time.time() + ttl}
    return trusted(Lease, fields)


def renew(transaction: Transaction, lease: Lease, ttl: float) -> Lease:
    """Extend the lease; raises `SessionFenced` if another process has the session."""
    now = transaction.clock(lease.session_id)
    changed = transaction.run(
        "UPDATE sessions SET lease_from = ?4, lease_until = ?5 WHERE id = ?1 AND lease_owner = ?2 AND fence = ?3",
        lease.session_id,
        lease.owner,
        lease.fence,
        now,
        now + ttl,
    )
    if not changed:
        raise SessionFenced("The session was taken over or given back since; the lease cannot be renewed.")
    return lease.model_copy(update={"expires_at": time.time() + ttl})


def release(transaction: Transaction, lease: Lease) -> bool:
    """Release the session, if the lease still has it. The number stays, so that the next one is higher."""
    return bool(
        transaction.run(
            "UPDATE sessions SET lease_owner = NULL, lease_process = NULL, lease_from = NULL, lease_until = NULL "
            "WHERE id = ?1 AND lease_owner = ?2 AND fence = ?3",
            lease.session_id,
            lease.owner,
            lease.fence,
        )
    )


@functools.cache
def _namespace() -> str:
    """The process namespace: in a container, process ids are different."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return ""


def this_process() -> str:
    """This process, as other processes of the machine know it."""
    return f"{_namespace()}:{os.getpid()}"


def is_gone(process: str | None) -> bool:
    """Whether a process of this machine has certainly ended: its lease does not have to run out first."""
    namespace, _, number = (process or "").partition(":")
    if not namespace or namespace != _namespace() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
