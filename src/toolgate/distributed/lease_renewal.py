"""Holding the sessions of all turns that a worker plays: three statements a round, however many they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from toolgate.distributed.workflows import NOW
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import Lease

_HELD = "jsonb_to_recordset(CAST(?1 AS jsonb)) AS h(id text, owner text, fence bigint, turn text)"
_MINE = "s.id = h.id AND s.lease_owner = h.owner AND s.fence = h.fence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewals:
    """What one round found, by turn."""

    renewed: frozenset[str]
    lost: frozenset[str]
    """Somebody else has the session."""
    unwanted: frozenset[str]
    """A person wants the turn to end."""


def renew(transaction: Transaction, held: Iterable[tuple[Lease, str]], ttl: float) -> Renewals:
    """Hold these sessions for longer, each with the turn that is played in it.

    A row that is locked is being written to, by its own turn most likely: it is left for the next round, so that one
    slow write does not cost everybody else their sessions.
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
