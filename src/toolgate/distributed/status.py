"""The status of the cluster: turns, queues, workers and waiting times, read in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from toolgate.distributed import workers
from toolgate.distributed.names import version
from toolgate.distributed.problems import problems
from toolgate.sessions.clock import NOW

if TYPE_CHECKING:
    from toolgate.sessions.driver import Row, Transaction

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_RECENT_SECONDS = 3600
"""The period that recent numbers cover, in seconds."""


class QueueStatus(BaseModel):
    """One queue: the turns or the sub-agents of a workspace."""

    model_config = _FROZEN

    queue: str
    workspace: str
    waiting: int
    running: int
    parked: int
    """Turns that wait for an approval."""
    oldest_wait: float
    """The longest time that a turn in this queue has waited for a worker, in seconds."""


class WorkerStatus(BaseModel):
    """One worker."""

    model_config = _FROZEN

    id: str
    name: str
    version: str
    workspaces: tuple[str, ...]
    places: dict[str, str]
    """The directory of each workspace on the worker's machine."""
    slots: int
    running: int
    state: str
    """`ready`, `draining`, `silent` (longer than the lease) or `gone`."""
    silent: float
    """Seconds since its last heartbeat."""
    age: float


class TurnStatus(BaseModel):
    """Turns by their outcome."""

    model_config = _FROZEN

    waiting: int = 0
    running: int = 0
    parked: int = 0
    done: int = 0
    """In the last hour, like the next three numbers."""
    failed: int = 0
    cancelled: int = 0
    """Ended by a person."""
    resumed: int = 0
    """Turns that needed more than one worker."""


class LagStatus(BaseModel):
    """How long turns wait for a worker, in seconds."""

    model_config = _FROZEN

    oldest_wait: float = 0.0
    """The longest wait of a turn that is waiting now."""
    usual_wait: float = 0.0
    """The median wait in the last hour."""
    longest_wait: float = 0.0
    """The 95th percentile in the last hour."""


class ClusterStatus(BaseModel):
    """The whole status."""

    model_config = _FROZEN

    version: str
    """The version of the turns that this program submits; see docs/scale.md."""
    turns: TurnStatus
    queues: tuple[QueueStatus, ...]
    workers: tuple[WorkerStatus, ...]
    lag: LagStatus
    problems: tuple[str, ...]
    """What an operator should look at, in words."""


def read_status(transaction: Transaction, *, lease: float) -> ClusterStatus:
    """Read the status. A worker without a heartbeat for `lease` seconds is dead."""
    queues = _queues(transaction)
    all_workers = tuple(_worker(row, lease) for row in workers.all_workers(transaction))
    recent = _recent_turns(transaction)
    turns = TurnStatus(
        waiting=sum(queue.waiting for queue in queues),
        running=sum(queue.running for queue in queues),
        parked=sum(queue.parked for queue in queues),
        **dict(zip(("done", "failed", "cancelled", "resumed"), map(int, recent), strict=False)),
    )
    return ClusterStatus(
        version=version(),
        turns=turns,
        queues=queues,
        workers=all_workers,
        lag=LagStatus(
            oldest_wait=max((queue.oldest_wait for queue in queues), default=0.0),
            usual_wait=float(recent[4]),
            longest_wait=float(recent[5]),
        ),
        problems=tuple(problems(queues, all_workers, turns, version())),
    )


def _worker(row: workers.WorkerRow, lease: float) -> WorkerStatus:
    """Return a worker's status. `silent` is computed here, because the last worker has nobody to mark it as dead."""
    state = "silent" if row.state != "gone" and row.silent > lease else row.state
    return WorkerStatus(**{name: getattr(row, name) for name in WorkerStatus.model_fields} | {"state": state})


def _queues(transaction: Transaction) -> tuple[QueueStatus, ...]:
    rows = transaction.rows(
        "SELECT queue, MIN(workspace), "
        "COUNT(*) FILTER (WHERE state = 'queued'), COUNT(*) FILTER (WHERE state = 'running'), "
        "COUNT(*) FILTER (WHERE state = 'parked'), "
        f"COALESCE(CAST({NOW} AS DOUBLE PRECISION) - MIN(COALESCE(claimed_at, submitted_at)) "
        "FILTER (WHERE state = 'queued'), 0) "
        "FROM dispatches WHERE state <> 'ended' GROUP BY queue ORDER BY queue"
    )
    names = ("queue", "workspace", "waiting", "running", "parked", "oldest_wait")
    return tuple(QueueStatus(**dict(zip(names, row, strict=True))) for row in rows)


def _recent_turns(transaction: Transaction) -> Row:
    wait = "d.claimed_at - d.submitted_at"
    asked = "SELECT 1 FROM approvals a WHERE a.session_id = d.session_id AND a.turn_id = d.turn_id"
    first = f"FILTER (WHERE t.attempt = 1 AND NOT EXISTS ({asked}))"
    row = transaction.row(
        "SELECT COUNT(*) FILTER (WHERE t.status = 'done'), "
        "COUNT(*) FILTER (WHERE t.status IN ('failed', 'interrupted')), "
        "COUNT(*) FILTER (WHERE t.status = 'cancelled'), COUNT(*) FILTER (WHERE t.attempt > 1), "
        f"COALESCE(percentile_cont(0.5) WITHIN GROUP (ORDER BY {wait}) {first}, 0), "
        f"COALESCE(percentile_cont(0.95) WITHIN GROUP (ORDER BY {wait}) {first}, 0) "
        "FROM dispatches d JOIN turns t ON t.id = d.turn_id "
        f"WHERE d.state = 'ended' AND d.ended_at > {NOW} - {_RECENT_SECONDS}"
    )
    assert row is not None
    return row
