"""Which turn a worker claims next: users with fewer running turns come first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from toolgate.distributed import dispatches
from toolgate.distributed import queue as turn_queue
from toolgate.distributed.dispatches import ClaimedTurn
from toolgate.distributed.names import version
from toolgate.sessions.clock import NOW
from toolgate.sessions.driver import Transaction

_CANDIDATES: Final = 5
"""Users whose turns one claim tries, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who claims turns from a queue, and under which limits."""

    worker: str
    queue: str
    share: int
    """Turns of one user that run at the same time, on all workers together."""
    lease: float
    """Seconds without a heartbeat after which a worker is dead."""


def claim(transaction: Transaction, claimant: Claimant) -> ClaimedTurn | bool:
    """Claim a waiting turn.

    Return True to try again soon, because another worker is claiming. Return False if nothing can be claimed now.
    """
    rows = transaction.rows(
        "WITH waiting AS (SELECT DISTINCT user_name FROM dispatches WHERE state = 'queued' AND queue = ?1 "
        "AND version = ?2), counted AS (SELECT user_name, (SELECT COUNT(*) FROM dispatches d WHERE d.state = 'running' "
        "AND d.queue = ?1 AND d.user_name = waiting.user_name) AS running FROM waiting) "
        f"SELECT user_name FROM counted WHERE running < ?3 ORDER BY running, random() LIMIT {_CANDIDATES}",
        *(claimant.queue, version(), claimant.share),
    )
    return _first(transaction, claimant, [row[0] for row in rows])


def reclaim(transaction: Transaction, claimant: Claimant, own: Collection[str]) -> ClaimedTurn | bool:
    """Claim a turn whose worker has died; the result is that of `claim`.

    `own` are the turns that this worker runs. If the answer of the database to a claim was lost, the database has this
    worker's name for a turn that is not in `own`. Such a turn is claimed again.
    """
    rows = transaction.rows(
        "SELECT DISTINCT d.user_name FROM dispatches d WHERE d.state = 'running' AND d.queue = ?1 AND d.version = ?3 "
        "AND (d.worker = ?4 AND NOT d.turn_id = ANY(string_to_array(?5, ',')) OR NOT EXISTS (SELECT 1 FROM workers k "
        f"WHERE k.id = d.worker AND k.state <> 'gone' AND k.seen_at >= {NOW} - ?2)) LIMIT {_CANDIDATES}",
        *(claimant.queue, claimant.lease, version(), claimant.worker, ",".join(own)),
    )
    return _first(transaction, claimant, [row[0] for row in rows])


def _first(transaction: Transaction, claimant: Claimant, users: list[str]) -> ClaimedTurn | bool:
    busy = False
    for user in users:
        name = turn_queue.entrypoint(claimant.queue, version(), user)
        if not turn_queue.lock(transaction, name):
            busy = True
            continue
        found = turn_queue.take(transaction, name, claimant.worker, limit=claimant.share, timeout=claimant.lease)
        if found is not None:
            return dispatches.start(transaction, *found, claimant.worker, claimant.lease) or True
    return busy
