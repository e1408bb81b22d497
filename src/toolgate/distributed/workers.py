"""The registered workers: one row per worker, with its last heartbeat by the database's clock."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolgate.sessions.clock import NOW
from toolgate.sessions.driver import Transaction

WorkerState = Literal["ready", "draining", "gone"]

_MEMORY_SECONDS = 86_400
"""Seconds for which a worker that has gone is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """How a worker describes itself."""

    id: str
    version: str
    places: Mapping[str, str]
    """Its workspaces, and the directory of each one on its machine."""
    slots: int
    running: int
    state: WorkerState

    @property
    def workspaces(self) -> tuple[str, ...]:
        """The names of its workspaces."""
        return tuple(self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow(WorkerInfo):
    """A registered worker."""

    name: str
    age: float
    """Seconds since it was started."""
    silent: float
    """Seconds since its last heartbeat."""


def this_name() -> str:
    """The name of this process for people."""
    return f"{socket.gethostname()}:{os.getpid()}"


def beat(transaction: Transaction, worker: WorkerInfo) -> None:
    """Store a heartbeat. The first one registers the worker; a worker that was thought dead is registered again."""
    transaction.run(
        "INSERT INTO workers (id, name, version, workspaces, slots, running, state, started_at, seen_at) "
        f"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, {NOW}, {NOW}) "
        f"ON CONFLICT (id) DO UPDATE SET running = excluded.running, state = excluded.state, seen_at = {NOW}",
        *(worker.id, this_name(), worker.version, json.dumps(dict(worker.places))),
        *(worker.slots, worker.running, worker.state),
    )


def leave(transaction: Transaction, worker_id: str) -> None:
    """Unregister the worker."""
    transaction.run("UPDATE workers SET state = 'gone', running = 0 WHERE id = ?1", worker_id)


def remove_dead(transaction: Transaction, timeout: float) -> list[str]:
    """Mark workers without a heartbeat as gone and return them; forget those that left long ago."""
    transaction.run(f"DELETE FROM workers WHERE state = 'gone' AND seen_at < {NOW} - {_MEMORY_SECONDS}")
    sql = f"UPDATE workers SET state = 'gone', running = 0 WHERE state <> 'gone' AND seen_at < {NOW} - ?1 RETURNING id"
    return [row[0] for row in transaction.rows(sql, timeout)]


def all_workers(transaction: Transaction) -> list[WorkerRow]:
    """All remembered workers, the active ones first."""
    rows = transaction.rows(
        "SELECT id, name, version, workspaces, slots, running, state, "
        f"CAST({NOW} AS DOUBLE PRECISION) - started_at, CAST({NOW} AS DOUBLE PRECISION) - seen_at "
        "FROM workers ORDER BY state = 'gone', started_at, id"
    )
    names = ("id", "name", "version", "places", "slots", "running", "state", "age", "silent")
    return [WorkerRow(**{**dict(zip(names, row, strict=True)), "places": _places(row[3])}) for row in rows]


def _places(stored: str) -> dict[str, str]:
    """Return the stored workspaces and their directories. Workers of an earlier version stored only the names."""
    found = json.loads(stored)
    return found if isinstance(found, dict) else dict.fromkeys(found, "")
