"""What a turn on a worker costs, and how long a turn stands still when its worker is killed.

    python -m benchmarks.cluster cost --turns 200
    python -m benchmarks.cluster memory --turns 100
    python -m benchmarks.cluster takeover --kills 50 --lease 3

`cost` compares a turn with two tool rounds with the same turn in process: processor time, connections, transactions and
bytes of PostgreSQL's log. `memory` is what a worker needs for each turn that waits for its model. `takeover` kills the
worker of a running turn with SIGKILL, and waits for the next event of that turn.
"""

import argparse
import asyncio
import contextlib
import functools
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

_STEPS = json.dumps([[["note", {"key": "k"}]], [["note", {"key": "k"}]], "That is all."])
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Reading:
    """What has been used until now: processor seconds, transactions, and bytes of PostgreSQL's log."""

    worker: float
    client: float
    postgres: float
    commits: int
    log_bytes: int


def _times(pid: int, *, children: bool = False) -> float:
    """Processor seconds of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(fields[place]) for place in ((11, 12, 13, 14) if children else (11, 12))) / _TICK


def _postgres_seconds(url: str) -> float:
    """Processor seconds of the server and all its processes."""
    data = parse_qs(urlsplit(url).query)["host"][0]
    server = int(Path(data, "postmaster.pid").read_text().split()[0])
    running = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    total = _times(server, children=True)
    for pid in running:
        with contextlib.suppress(OSError):  # it has ended; then the server's own times include it
            total += _times(int(pid))
    return total


def _resident(pid: int) -> float:
    """Memory of a process in KB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


async def _read(made: Any, worker: int | None) -> Reading:
    sql = (
        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), xact_commit "
        "FROM pg_stat_database WHERE datname = current_database()"
    )
    row = await made.db.read(lambda tx: tx.row(sql))
    return Reading(
        worker=_times(worker) if worker else 0.0,
        client=time.process_time(),
        postgres=_postgres_seconds(made.url),
        commits=int(row[1]),
        log_bytes=int(row[0]),
    )


async def _connections(made: Any) -> int:
    sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
    row = await made.db.read(lambda tx: tx.row(sql))
    return int(row[0])


@contextlib.asynccontextmanager
async def _cluster(lease: float = 10.0, **environment: str) -> AsyncIterator[Any]:
    from tests.distributed.cluster import cluster
    from tests.support.databases import postgres_server
    from toolgate.distributed.options import ClusterOptions
    from toolgate.settings import Settings

    options = ClusterOptions.of(Settings.defaults(), turns_per_minute=0, user_turns=1000, slots=1000, lease=lease)
    with postgres_server() as url, tempfile.TemporaryDirectory() as folder:
        async with cluster(url, Path(folder), options, TOOLGATE_DISTRIBUTED_SLOTS="1000", **environment) as made:
            yield made


async def _turn(made: Any, session_id: str) -> None:
    """One turn, as a gateway sees it: from sending to the last event of the log."""
    after = await made.sessions.last_seq(session_id)
    await made.runner.submit(session_id, _STEPS)
    async with contextlib.aclosing(made.sessions.follow(session_id, after)) as events:
        async for event in events:
            if event.kind == "turn_finished":
                assert event.payload["status"] == "done", event.payload
                return


async def _in_process(made: Any, turns: int) -> None:
    from tests.distributed.program import StepModel, registry
    from toolgate.agent import AgentLoop, TurnDone

    loop = AgentLoop(StepModel(), registry(str(made.base / "effects")), made.sessions)
    session = await made.sessions.create()

    async def turn() -> None:
        async for event in loop.handle_message(session.id, _STEPS):
            last = event
        assert isinstance(last, TurnDone)

    await _measured(made, None, "in process", turn, turns)
    await loop.aclose()


async def _measured(made: Any, worker: int | None, name: str, turn: Callable[[], Awaitable[None]], turns: int) -> None:
    """Run turns one after the other, and print what each has cost."""
    for _ in range(5):
        await turn()
    await asyncio.sleep(1.5)  # the server's statistics are up to a second late
    before, begun = await _read(made, worker), time.perf_counter()
    for _ in range(turns):
        await turn()
    seconds = time.perf_counter() - begun
    await asyncio.sleep(1.5)
    after = await _read(made, worker)
    used = [getattr(after, field) - getattr(before, field) for field in ("worker", "client", "postgres")]
    row = [
        f"{seconds / turns * 1e3:.0f} ms",
        *(f"{one / turns * 1e3:.0f} ms" for one in used),
        f"{sum(used) / turns * 1e3:.0f} ms",
        f"{(after.commits - before.commits) / turns:.1f}",
        f"{(after.log_bytes - before.log_bytes) / turns / 1e3:.1f} KB",
        str(await _connections(made)),
    ]
    print(f"| {name} | " + " | ".join(row) + " |", flush=True)


async def cost(turns: int) -> None:
    """Print the cost of a turn, in process and on a worker."""
    print("| turn | duration | worker | gateway | PostgreSQL | processor time | transactions | log | connections |")
    print("|---|---|---|---|---|---|---|---|---|")
    async with _cluster() as made:
        await _in_process(made, turns)
    async with _cluster() as made:
        process = made.worker()
        await made.ready(process)
        session = await made.session()
        await _measured(made, process.popen.pid, "on a worker", functools.partial(_turn, made, session), turns)


async def memory(turns: int) -> None:
    """Print what a worker needs for each turn that waits for its model."""
    async with _cluster(TEST_MODEL_PAUSE="60") as made:
        process = made.worker()
        await made.ready(process)
        one = await _waiting(made, process, 1, 1)
        many = await _waiting(made, process, turns, turns + 1)
    print(f"one turn: {one / 1e3:.0f} MB; each further turn: {(many - one) / turns:.0f} KB")


async def _waiting(made: Any, process: Any, more: int, all_of_them: int) -> float:
    """Begin more turns; returns the worker's memory in KB when all of them wait for their model."""
    from tests.distributed.cluster import until

    sql = "SELECT COUNT(*) FROM dispatches WHERE state = 'running'"

    async def running() -> bool:
        return bool((await made.db.read(lambda tx: tx.row(sql)))[0] == all_of_them)

    for _ in range(more):
        await made.begin(await made.session(), "That is all.")
    await until(running, what="the turns", logs=made.logs)
    await asyncio.sleep(2)  # until the models are asked
    return _resident(process.popen.pid)


async def takeover(kills: int, lease: float) -> None:
    """Print how long turns stood still whose worker was killed."""
    gaps = []
    async with _cluster(lease, TEST_MODEL_PAUSE="0.05") as made:
        await made.ready(made.worker(), made.worker())
        for number in range(kills):
            gaps.append(await _gap(made, f"k{number}"))
            await made.ready(made.worker())
            print(f"\r{number + 1} of {kills}", end="", flush=True)
    median, worst = statistics.median(gaps), max(gaps)
    print(f"\rlease {lease:g} s, {kills} kills: median {median:.2f} s, worst {worst:.2f} s", end="; ")
    print(f"in leases: {median / lease:.2f}, {worst / lease:.2f}")


async def _gap(made: Any, key: str) -> float:
    """Seconds from the death of a turn's worker to the turn's next event."""
    from tests.distributed.cluster import until

    session = await made.session()
    turn = await made.begin(session, [["look", {"key": key, "seconds": 0.5}]], "That is all.")
    await until(lambda: key in made.effects("looks"), what="the look", logs=made.logs)
    after = await made.sessions.last_seq(session)
    victim = await made.player(turn.id)
    victim.kill()
    begun = time.perf_counter()
    async with contextlib.aclosing(made.sessions.follow(session, after)) as events:
        await anext(aiter(events))
    gap = time.perf_counter() - begun
    ended = await made.ended(turn.id)
    assert (ended.status, ended.attempt) == ("done", 2), ended
    made.processes.remove(victim)
    return gap


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cost", "memory", "takeover"])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--lease", type=float, default=3.0)
    options = parser.parse_args()
    if options.what == "cost":
        asyncio.run(cost(options.turns))
    elif options.what == "memory":
        asyncio.run(memory(options.turns))
    else:
        asyncio.run(takeover(options.kills, options.lease))


if __name__ == "__main__":
    main()
