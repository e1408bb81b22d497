"""The status as text: the verdict first, names cut and escaped."""

from typing import Any

from toolgate.distributed.status import ClusterStatus, LagStatus, QueueStatus, TurnStatus, WorkerStatus
from toolgate.gateway.status_text import as_page, as_text


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


def _status(*found: str, workers: tuple[WorkerStatus, ...] = (), queues: tuple[QueueStatus, ...] = ()) -> ClusterStatus:
    lag = LagStatus(oldest_wait=2.5, usual_wait=0.01, longest_wait=1.25)
    turns = TurnStatus(waiting=1, running=2, done=7, cancelled=3)
    return ClusterStatus(version="0004.0001", turns=turns, queues=queues, workers=workers, lag=lag, problems=found)


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
