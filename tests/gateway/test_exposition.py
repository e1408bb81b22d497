"""Numbers for Prometheus."""

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from toolgate.distributed.status import ClusterStatus, LagStatus, QueueStatus, TurnStatus, WorkerStatus
from toolgate.gateway.exposition import as_metrics, worker_metrics


def _worker(**changes: Any) -> WorkerStatus:
    plain = {
        "id": "w",
        "name": "vm:1",
        "version": "0004.0001",
        "workspaces": ("main",),
        "places": {"main": "/srv/main"},
        "slots": 8,
        "running": 0,
        "state": "ready",
        "silent": 0.5,
        "age": 60.0,
    }
    return WorkerStatus(**{**plain, **changes})


def _queue(**changes: Any) -> QueueStatus:
    plain = {"queue": "turns:main", "workspace": "main", "waiting": 3, "running": 0, "parked": 0, "oldest_wait": 1.0}
    return QueueStatus(**{**plain, **changes})


def _status(*found: str, workers: tuple[WorkerStatus, ...] = (), queues: tuple[QueueStatus, ...] = ()) -> ClusterStatus:
    lag = LagStatus(oldest_wait=2.5, usual_wait=0.01, longest_wait=1.25)
    turns = TurnStatus(waiting=1, running=2, done=7, cancelled=3)
    return ClusterStatus(version="0004.0001", turns=turns, queues=queues, workers=workers, lag=lag, problems=found)


def test_metrics_are_what_prometheus_reads_and_hold_all_numbers() -> None:
    queue = _queue(queue='turns:a "name"\\\n', oldest_wait=12.5)
    status = _status("x", workers=(_worker(), _worker(state="silent")), queues=(queue,))
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(as_metrics(status) + worker_metrics(3, 8, ready=True))
        for sample in family.samples
    }

    assert found["toolgate_database_up",] == 1
    assert found["toolgate_cluster_turns", "running"] == 2
    assert found["toolgate_cluster_turns_last_hour", "cancelled"] == 3
    assert found["toolgate_cluster_queue_waiting", queue.queue] == 3
    assert found["toolgate_cluster_queue_oldest_wait_seconds", queue.queue] == 12.5
    assert found["toolgate_cluster_workers", "ready"] == found["toolgate_cluster_workers", "silent"] == 1
    assert found["toolgate_cluster_wait_seconds", "0.95"] == 1.25
    assert found["toolgate_cluster_problems",] == 1
    assert (found["toolgate_worker_turns",], found["toolgate_worker_slots",]) == (3, 8)


def test_a_database_that_is_away_is_a_number_too() -> None:
    assert as_metrics(None).splitlines()[-1] == "toolgate_database_up 0"
