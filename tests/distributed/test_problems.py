"""Problems say what to do about them."""

from typing import Any

import pytest

from toolgate.distributed.problems import problems
from toolgate.distributed.status import QueueStatus, TurnStatus, WorkerStatus


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
