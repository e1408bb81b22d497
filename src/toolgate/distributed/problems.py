"""Problems that an operator should look at, with advice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolgate.distributed.status import QueueStatus, TurnStatus, WorkerStatus

LONG_WAIT = 30.0
"""Seconds that a turn may wait for a worker before it counts as a problem."""
_MIN_FAILURES = 5
"""Failures per hour below which there is no problem."""


def problems(
    queues: Sequence[QueueStatus], workers: Sequence[WorkerStatus], turns: TurnStatus, expected: str
) -> list[str]:
    """Return all problems, the most severe first. `expected` is the version of turns that this program submits."""
    alive = [worker for worker in workers if worker.state in ("ready", "draining")]
    return [
        *_no_worker(alive),
        *_unserved_workspaces(queues, alive),
        *_slow_queues(queues, alive, expected),
        *_silent_workers(workers),
        *_failing_turns(turns),
        *_several_directories(alive),
        *_several_versions(alive),
    ]


def _no_worker(alive: Sequence[WorkerStatus]) -> Iterator[str]:
    if not alive:
        yield "no worker is alive: start one with `toolgate worker --workspace NAME=DIR`"


def _unserved_workspaces(queues: Sequence[QueueStatus], alive: Sequence[WorkerStatus]) -> Iterator[str]:
    served = {name for worker in alive if worker.state == "ready" for name in worker.workspaces}
    for queue in queues:
        if queue.waiting and queue.workspace not in served:
            yield (
                f"{_turns(queue.waiting)} for the workspace {queue.workspace!r}, which no worker serves: start one "
                f"with `toolgate worker --workspace {queue.workspace}=DIR`"
            )


def _slow_queues(queues: Sequence[QueueStatus], alive: Sequence[WorkerStatus], expected: str) -> Iterator[str]:
    for queue in queues:
        serving = [one for one in alive if one.state == "ready" and queue.workspace in one.workspaces]
        if queue.oldest_wait < LONG_WAIT or not serving:
            continue
        waits = f"{_turns(queue.waiting)} for the workspace {queue.workspace!r}, one for {queue.oldest_wait:.0f} s"
        if all(worker.running >= worker.slots for worker in serving):
            yield f"{waits}, and its workers are full: start more, or raise TOOLGATE_DISTRIBUTED_SLOTS"
        elif all(worker.version < expected for worker in serving):
            yield f"{waits}, and all of its workers are older than the program that submits turns: start newer ones"
        else:
            yield (
                f"{waits}, though its workers have room: somebody has more turns than TOOLGATE_LIMITS_USER_TURNS, or "
                "the database is slow"
            )


def _silent_workers(workers: Sequence[WorkerStatus]) -> Iterator[str]:
    for worker in workers:
        if worker.state == "silent":
            yield (
                f"worker {worker.name} has been silent for {worker.silent:.0f} s: look whether its process, its "
                "machine or its way to the database is gone; others take its turns over"
            )


def _failing_turns(turns: TurnStatus) -> Iterator[str]:
    if turns.failed >= _MIN_FAILURES and turns.failed > turns.done:
        yield (
            f"{turns.failed} of the {turns.failed + turns.done} turns of the last hour failed: `toolgate sessions` and "
            "the workers' log say why"
        )


def _several_directories(alive: Sequence[WorkerStatus]) -> Iterator[str]:
    """Yield a problem for each machine whose workers serve one workspace from several directories.

    Workers on different machines may mount the same files at different paths, so they are not compared.
    """
    directories: dict[tuple[str, str], set[str]] = defaultdict(set)
    for worker in alive:
        for name, directory in (item for item in worker.places.items() if item[1]):
            directories[worker.name.rpartition(":")[0], name].add(directory)
    for (machine, name), found in sorted(directories.items()):
        if len(found) > 1:
            yield (
                f"workers on {machine} serve the workspace {name!r} from {', '.join(sorted(found))}: a name is the "
                "same files for all of its workers; end those that have the wrong directory"
            )


def _several_versions(alive: Sequence[WorkerStatus]) -> Iterator[str]:
    versions = sorted({worker.version for worker in alive})
    if len(versions) > 1:
        yield (
            f"workers of {len(versions)} versions are alive ({', '.join(versions)}): an upgrade goes on; end the older "
            "ones when the newer ones are ready"
        )


def _turns(number: int) -> str:
    return "1 turn waits" if number == 1 else f"{number} turns wait"
