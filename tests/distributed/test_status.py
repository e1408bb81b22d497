"""What somebody at three in the morning is told: what is wrong, and what to do about it."""

import time
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.distributed.cluster import Cluster
from toolgate.distributed import dispatches
from toolgate.distributed.exposition import as_metrics, worker_metrics
from toolgate.distributed.problems import problems
from toolgate.distributed.status import LagStatus, QueueStatus, Status, TurnStatus, WorkerStatus, look
from toolgate.distributed.status_text import as_page, as_text
from toolgate.sessions.driver import Transaction


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


def _status(*found: str, workers: tuple[WorkerStatus, ...] = (), queues: tuple[QueueStatus, ...] = ()) -> Status:
    lag = LagStatus(oldest_wait=2.5, usual_wait=0.01, longest_wait=1.25)
    turns = TurnStatus(waiting=1, running=2, done=7, cancelled=3)
    return Status(version="0004.0001", turns=turns, queues=queues, workers=workers, lag=lag, problems=found)


FINE = TurnStatus(done=10, failed=4)
LATE = _queue(oldest_wait=45.0)
CASES: dict[str, tuple[list[QueueStatus], list[WorkerStatus], TurnStatus, list[str]]] = {
    "nothing": ([_queue()], [_worker()], FINE, []),
    "nobody": ([], [], FINE, ["start one with `toolgate worker --workspace NAME=DIR`"]),
    "everybody is dead": ([], [_worker(state="silent", silent=60)], FINE, ["no worker is alive", "silent for 60 s"]),
    "nobody for it": ([_queue(workspace="docs")], [_worker()], FINE, ["--workspace docs=DIR"]),
    "draining": ([_queue()], [_worker(state="draining")], FINE, ["which no worker serves"]),
    "full": ([LATE], [_worker(running=8)], FINE, ["one for 45 s, and its workers are full: start more"]),
    "a share": ([LATE], [_worker(running=4)], FINE, ["TOOLGATE_LIMITS_USER_TURNS"]),
    "older": ([LATE], [_worker(version="0003.0001")], FINE, ["start newer ones"]),
    "failing": ([], [_worker()], TurnStatus(done=2, failed=6), ["6 of the 8 turns of the last hour failed"]),
    "two places": ([], [_worker(), _worker(id="x", places={"main": "/else"})], FINE, ["/else, /srv/main"]),
    "two machines": ([], [_worker(), _worker(name="other:1", places={"main": "/else"})], FINE, []),
    "an old worker's places": ([], [_worker(), _worker(places={"main": ""})], FINE, []),
    "an upgrade": ([], [_worker(), _worker(version="0005.0001")], FINE, ["an upgrade goes on"]),
    "gone": ([], [_worker(), _worker(state="gone", silent=500)], FINE, []),
}


@pytest.mark.parametrize("case", CASES)
def test_every_problem_says_what_to_do(case: str) -> None:
    queues, workers, turns, expected = CASES[case]
    found = problems(queues, workers, turns, "0004.0001")

    assert len(found) == len(expected), found
    for line, part in zip(found, expected, strict=True):
        assert part in line


def test_the_first_line_is_the_verdict() -> None:
    fine = as_text(_status(workers=(_worker(),)))
    bad = as_text(_status("no worker is alive: start one", "another"))

    assert fine.splitlines()[0] == "Fine: 1 worker is ready, 2 turns run, 1 wait."
    assert bad.splitlines()[:3] == ["2 problems:", "! no worker is alive: start one", "! another"]


def test_names_are_cut_and_escaped_and_workers_that_are_long_gone_only_counted() -> None:
    odd = _worker(name="<b>vm</b>", workspaces=("/home/" + "x" * 100 + "/end",))
    status = _status(
        "<i>look</i>", workers=(odd, *(_worker(state="gone", silent=9000, name="old:1") for _ in range(3)))
    )
    text, page = as_text(status), as_page(status)

    assert max(map(len, text.splitlines())) < 140
    assert "xxx/end" in text
    assert "<b>" not in page
    assert "<i>" not in page
    for shown in (text, page):
        assert "3 more workers have ended" in shown
        assert "old:1" not in shown


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


@pytest.mark.postgres
async def test_what_a_person_took_is_no_waiting_for_a_worker(machines: Cluster) -> None:
    now = time.time()

    def prepare(transaction: Transaction) -> None:
        for name, state, submitted, claimed in (
            ("never taken", "queued", now - 60, None),
            ("answered after days", "parked", now - 300_000, now - 299_000),
        ):
            transaction.run(
                "INSERT INTO dispatches (turn_id, session_id, user_name, workspace, queue, version, agent, state, "
                "submitted_at, claimed_at) VALUES (?1, ?1, 'ada', ?2, ?2, 'v', '', ?3, ?4, ?5)",
                *(name, name.partition(" ")[0], state, submitted, claimed),
            )
        dispatches._move(transaction, "answered after days", "queued")

    await machines.db.write(prepare)
    status = await machines.db.read(lambda tx: look(tx, lease=10.0))
    waits = {queue.workspace: queue.oldest_wait for queue in status.queues}

    assert 55 < waits["never"] < 120
    assert waits["answered"] < 30
