"""Renewing the leases of all turns that a worker runs: three statements per round, for any number of turns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from toolgate.sessions.clock import NOW
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import Lease

_HELD = "jsonb_to_recordset(CAST(?1 AS jsonb)) AS h(id text, owner text, fence bigint, turn text)"
_MINE = "s.id = h.id AND s.lease_owner = h.owner AND s.fence = h.fence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewals:
    """What one round of renewals found, by turn."""

    renewed: frozenset[str]
    lost: frozenset[str]
    """Turns whose session belongs to someone else."""
    unwanted: frozenset[str]
    """Turns that a person wants to end."""


def renew(transaction: Transaction, held: Iterable[tuple[Lease, str]], ttl: float) -> Renewals:
    """Renew these leases, each with its turn.

    A locked row is being written to, most likely by its own turn. It is skipped until the next round, so that one slow
    write does not cost the other turns their leases.
    """
    rows = [{"id": lease.session_id, "owner": lease.owner, "fence": lease.fence, "turn": turn} for lease, turn in held]
    if not rows:
        return Renewals(renewed=frozenset(), lost=frozenset(), unwanted=frozenset())
    text = json.dumps(rows)
    renewed = transaction.rows(
        f"WITH mine AS (SELECT s.id, h.turn FROM sessions s JOIN {_HELD} ON {_MINE} FOR UPDATE OF s SKIP LOCKED) "
        f"UPDATE sessions SET lease_from = {NOW}, lease_until = {NOW} + ?2 FROM mine WHERE sessions.id = mine.id "
        "RETURNING mine.turn",
        *(text, ttl),
    )
    lost = transaction.rows(f"SELECT h.turn FROM {_HELD} LEFT JOIN sessions s ON {_MINE} WHERE s.id IS NULL", text)
    unwanted = transaction.rows(
        f"SELECT t.id FROM turns t JOIN {_HELD} ON t.id = h.turn WHERE t.cancel_requested_at IS NOT NULL", text
    )
    return Renewals(
        renewed=frozenset(row[0] for row in renewed),
        lost=frozenset(row[0] for row in lost),
        unwanted=frozenset(row[0] for row in unwanted),
    )
