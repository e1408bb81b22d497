"""Turns on workers: against the same turn in process, with one worker and two, with few sessions and many."""

import asyncio
import atexit
import contextlib
import functools
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

Play = Callable[[str], Awaitable[Sample]]

_CALLS = 2
"""Rounds with a call in a turn; one more answers in words."""
_TURNS = 30


_KEPT = contextlib.ExitStack()
"""What lasts as long as the process that measures."""
atexit.register(_KEPT.close)


async def _kept(making: contextlib.AbstractAsyncContextManager[Any]) -> Any:
    """A cluster that lasts as long as this process; its own processes end with it."""
    made = await making.__aenter__()
    _KEPT.callback(id, making)
    for process in made.processes:
        _KEPT.callback(process.kill)
    return made


def _steps() -> str:
    return json.dumps([*([["note", {"key": "k"}]] for _ in range(_CALLS)), "That is all."])


@contextlib.contextmanager
def _server() -> Any:
    from tests.support.databases import postgres_server

    with postgres_server() as url:
        yield url


async def in_process() -> Play:
    """The agent loop in this process, on PostgreSQL."""
    from tests.distributed.program import StepModel, registry
    from toolgate.agent import AgentLoop, TurnDone
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import SessionSettings

    url = _KEPT.enter_context(_server())
    folder = _KEPT.enter_context(tempfile.TemporaryDirectory())
    db = Database(url)
    await db.migrate()
    sessions = SessionManager(db, SessionSettings())
    loop = AgentLoop(StepModel(), registry(folder), sessions)

    async def turn(session_id: str) -> float:
        begin = time.perf_counter()
        async for event in loop.handle_message(session_id, _steps()):
            last = event
        assert isinstance(last, TurnDone)
        return time.perf_counter() - begin

    async def play(case: str) -> Sample:
        if case == "one after the other":
            session = await sessions.create()
            await turn(session.id)
            return Sample(value=statistics.median([await turn(session.id) for _ in range(_TURNS)]) * 1e3)
        many = [(await sessions.create()).id for _ in range(_TURNS)]
        begin = time.perf_counter()
        await _limited(8, [functools.partial(turn, one) for one in many])
        return Sample(value=(time.perf_counter() - begin) / _TURNS * 1e3)

    return play


async def _limited(limit: int, jobs: list[Callable[[], Awaitable[Any]]]) -> None:
    left = iter(jobs)

    async def run() -> None:
        for job in left:
            await job()

    await asyncio.gather(*(run() for _ in range(limit)))


@contextlib.asynccontextmanager
async def _cluster(workers: int, *, pause: float = 0.0, slots: int = 8, url: str | None = None) -> AsyncIterator[Any]:
    from tests.distributed.cluster import cluster
    from toolgate.distributed.options import ClusterOptions
    from toolgate.settings import Settings

    with contextlib.ExitStack() as closing:
        url = url or closing.enter_context(_server())
        folder = closing.enter_context(tempfile.TemporaryDirectory())
        limits = {"turns_per_minute": 0, "user_turns": slots * workers, "slots": slots}
        options = ClusterOptions.of(Settings.defaults(), **limits)
        settings = {
            "TOOLGATE_DISTRIBUTED_SLOTS": str(slots),
            "TEST_MODEL_PAUSE": str(pause),
        }
        async with cluster(url, Path(folder), options, **settings) as made:
            await made.ready(*(made.worker() for _ in range(workers)))
            yield made


async def _turn(made: Any, session_id: str, steps: str) -> float:
    """One turn, as a gateway sees it: from sending to the last event of the log."""
    after = await made.sessions.last_seq(session_id)
    begin = time.perf_counter()
    await made.runner.submit(session_id, steps)
    async with contextlib.aclosing(made.sessions.follow(session_id, after)) as events:
        async for event in events:
            if event.kind == "turn_finished":
                assert event.payload["status"] == "done", event.payload
                break
    return time.perf_counter() - begin


async def on_a_worker() -> Play:
    """Through the queue in PostgreSQL to a worker, and back through the log."""
    made = await _kept(_cluster(1, url=_KEPT.enter_context(_server())))

    async def play(case: str) -> Sample:
        if case == "one after the other":
            session = await made.session()
            await _turn(made, session, _steps())
            return Sample(value=statistics.median([await _turn(made, session, _steps()) for _ in range(_TURNS)]) * 1e3)
        many = [await made.session() for _ in range(_TURNS)]
        begin = time.perf_counter()
        await _limited(8, [functools.partial(_turn, made, one, _steps()) for one in many])
        return Sample(value=(time.perf_counter() - begin) / _TURNS * 1e3)

    return play


async def workers() -> Play:
    """A model that thinks for 0.5 s, and as many workers as the case says, four turns at a time each."""

    async def play(case: str) -> Sample:
        async with _cluster(int(case.split()[0]), pause=0.5, slots=4) as made:
            many = [await made.session() for _ in range(32)]
            begin = time.perf_counter()
            await asyncio.gather(*(_turn(made, one, _steps()) for one in many))
            return Sample(value=(time.perf_counter() - begin) / len(many) * 1e3)

    return play


async def filled() -> Play:
    """The cost of a turn with as many sessions in the tables as the case says, ten turns each."""
    made = await _kept(_cluster(1, url=_KEPT.enter_context(_server())))
    present = 0

    async def play(case: str) -> Sample:
        nonlocal present
        wanted = int(case.split()[0])
        if wanted > present:
            await made.db.write(lambda tx: _fill(tx, present, wanted))
            present = wanted
        session = await made.session()
        await _turn(made, session, _steps())
        return Sample(value=statistics.median([await _turn(made, session, _steps()) for _ in range(_TURNS)]) * 1e3)

    return play


def _fill(transaction: Any, present: int, wanted: int) -> None:
    """Sessions as they are after a while, written without playing them."""
    sessions = f"generate_series({present + 1}, {wanted}) n"
    turns = f"{sessions}, generate_series(1, 10) k"
    for sql in (
        "INSERT INTO sessions (id, mode, user_name, project, title, created_at, updated_at, next_seq) "
        f"SELECT 'old' || n, 'chat_safe', 'user' || n % 100, 'main', 'An old one', n, n, 61 FROM {sessions}",
        "INSERT INTO events (place, session_id, seq, turn_id, kind, version, payload, fence, created_at) "
        "SELECT s.number * 4294967296 + k, s.id, k, 'old' || k, 'message', 1, '{}', 1, 1 "
        f"FROM {sessions} JOIN sessions s ON s.id = 'old' || n, generate_series(1, 60) k",
        "INSERT INTO turns (id, session_id, status, started_at, finished_at) "
        f"SELECT 'old' || n || '.' || k, 'old' || n, 'done', n, n FROM {turns}",
        "INSERT INTO dispatches "
        "(turn_id, session_id, user_name, workspace, queue, version, agent, state, submitted_at, claimed_at, ended_at) "
        "SELECT 'old' || n || '.' || k, 'old' || n, 'user' || n % 100, 'main', 'turns:main', "
        f"'0', '', 'ended', n, n, n FROM {turns}",
    ):
        transaction.run(sql)


async def _made(implementation: Any) -> Any:
    return await implementation()


async def _play(play: Play, case: str) -> Sample:
    return await play(case)


_BOTH = ("one after the other", "eight at once")

TURN = Bench(
    name="distributed turn",
    unit="ms",
    cases=_BOTH,
    floor="in process",
    contenders={"in process": in_process, "toolgate": on_a_worker},
    setup=_made,
    measure=_play,
    targets=[Target(contender="toolgate", case=case, at_most=2.5) for case in _BOTH],
    rounds=3,
)

WORKERS = Bench(
    name="distributed workers",
    unit="ms",
    cases=("1 worker", "2 workers"),
    floor="toolgate",
    contenders={"toolgate": workers},
    setup=_made,
    measure=_play,
    targets=[
        Target(contender="toolgate", case="2 workers", at_most=1 / 1.8, against="toolgate", against_case="1 worker")
    ],
    rounds=2,
)

SESSIONS = Bench(
    name="distributed sessions",
    unit="ms",
    cases=("10 sessions", "100 sessions", "1000 sessions", "10000 sessions"),
    floor="toolgate",
    contenders={"toolgate": filled},
    setup=_made,
    measure=_play,
    targets=[
        Target(contender="toolgate", case="10000 sessions", at_most=1.3, against="toolgate", against_case="10 sessions")
    ],
    rounds=1,
)
