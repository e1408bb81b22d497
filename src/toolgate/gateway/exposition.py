"""The status as metrics, in the Prometheus text format.

Metrics that begin with `toolgate_cluster` describe all workers together and are the same on every endpoint: take the
maximum of several answers, never their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolgate.distributed.status import ClusterStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Samples = Iterable[tuple[Mapping[str, str], float]]


def as_metrics(status: ClusterStatus | None) -> str:
    """The cluster's gauges. Without a status the database was unavailable, and only that is reported."""
    up = _gauge("toolgate_database_up", "Whether the database answered.", [({}, status is not None)])
    if status is None:
        return up
    turns, lag = status.turns, status.lag
    states = ("ready", "draining", "silent", "gone")
    return up + "".join(
        (
            _gauge("toolgate_cluster_turns", "Turns that are open, by state.", _each(turns, "state", _OPEN)),
            _gauge("toolgate_cluster_turns_last_hour", "How turns ended.", _each(turns, "ending", _ENDINGS)),
            _gauge(
                "toolgate_cluster_turns_resumed_last_hour",
                "Turns that more than one worker had to run.",
                [({}, turns.resumed)],
            ),
            _gauge(
                "toolgate_cluster_queue_waiting",
                "Turns that wait for a worker, by queue.",
                [({"queue": queue.queue}, queue.waiting) for queue in status.queues],
            ),
            _gauge(
                "toolgate_cluster_queue_oldest_wait_seconds",
                "How long the one that waits longest has waited, by queue.",
                [({"queue": queue.queue}, queue.oldest_wait) for queue in status.queues],
            ),
            _gauge(
                "toolgate_cluster_oldest_wait_seconds",
                "How long the turn that waits longest for a worker has waited.",
                [({}, lag.oldest_wait)],
            ),
            _gauge(
                "toolgate_cluster_wait_seconds",
                "What turns of the last hour waited for a worker.",
                [({"quantile": "0.5"}, lag.usual_wait), ({"quantile": "0.95"}, lag.longest_wait)],
            ),
            _gauge(
                "toolgate_cluster_workers",
                "Workers, by state.",
                [({"state": state}, sum(worker.state == state for worker in status.workers)) for state in states],
            ),
            _gauge("toolgate_cluster_problems", "What somebody should look at.", [({}, len(status.problems))]),
        )
    )


def worker_metrics(running: int, slots: int, *, ready: bool) -> str:
    """The metrics of one worker."""
    return (
        _gauge("toolgate_worker_turns", "Turns that this worker runs.", [({}, running)])
        + _gauge("toolgate_worker_slots", "Turns that it runs at the same time, for each workspace.", [({}, slots)])
        + _gauge("toolgate_worker_ready", "Whether it takes turns.", [({}, ready)])
    )


_OPEN = ("waiting", "running", "parked")
_ENDINGS = ("done", "failed", "cancelled")


def _each(owner: object, label: str, names: Iterable[str]) -> Samples:
    return [({label: name}, getattr(owner, name)) for name in names]


def _gauge(name: str, help_text: str, samples: Samples) -> str:
    lines = [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        label_text = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{f'{{{label_text}}}' if label_text else ''} {float(value):.10g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
