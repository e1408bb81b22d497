"""Workers that die or sleep in the middle of a turn: somebody else goes on, and nothing is done twice."""

import asyncio
import signal
from typing import Any

import pytest

from tests.distributed.cluster import LEASE, Cluster, Process, until
from toolgate.sessions import Event, Turn

pytestmark = [pytest.mark.distributed, pytest.mark.timeout(240)]


async def _who(machines: Cluster, turn: Turn, processes: list[Process]) -> Process:
    """The process that plays the turn."""
    found: list[str] = []

    async def taken() -> bool:
        sql = "SELECT k.name FROM dispatches d JOIN workers k ON k.id = d.worker WHERE d.turn_id = ?1"
        row = await machines.db.read(lambda tx: tx.row(sql, turn.id))
        if row is not None:
            found.append(row[0])
        return bool(found)

    await until(taken, what="a worker", logs=machines.logs)
    return next(process for process in processes if found[0].endswith(f":{process.popen.pid}"))


def _kinds(events: list[Event], kind: str) -> list[dict[str, Any]]:
    return [event.payload for event in events if event.kind == kind]


async def test_a_call_that_had_started_is_not_repeated_and_the_model_is_told(machines: Cluster) -> None:
    workers = [machines.worker(), machines.worker()]
    await machines.ready(*workers)
    session = await machines.session()
    turn = await machines.begin(session, [["note", {"key": "once", "seconds": 20}]], "Then this.")
    victim = await _who(machines, turn, workers)
    await until(lambda: _started(machines, session), what="the call to start", logs=machines.logs)
    victim.kill()
    ended = await machines.ended(turn.id)
    events = await machines.events(session)
    transcript = await machines.sessions.messages(session)

    assert (ended.status, ended.attempt, ended.id) == ("done", 2, turn.id)
    assert [call["uncertain"] for call in _kinds(events, "call_finished")] == [True]
    assert "Nobody knows how far it got" in transcript[2].content
    assert [message.role for message in transcript] == ["user", "assistant", "tool", "assistant"]
    assert len(_kinds(events, "call_proposed")) == len(_kinds(events, "turn_started")) == 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert machines.effects() in ([], ["once"])


async def _started(machines: Cluster, session: str) -> bool:
    return any(call.state == "started" for call in await machines.sessions.calls(session))


async def test_what_only_reads_is_repeated_and_what_has_ended_is_not(machines: Cluster) -> None:
    workers = [machines.worker(), machines.worker()]
    await machines.ready(*workers)
    session = await machines.session()
    steps = [[["note", {"key": "first"}]], [["look", {"key": "second", "seconds": 3}]], "Seen."]
    turn = await machines.begin(session, *steps)
    victim = await _who(machines, turn, workers)
    await until(lambda: machines.effects("looks") == ["second"], what="the look", logs=machines.logs)
    victim.kill()
    ended = await machines.ended(turn.id)
    calls = await machines.sessions.calls(session)

    assert (ended.status, ended.attempt) == ("done", 2)
    assert machines.effects() == ["first"]
    assert machines.effects("looks") == ["second", "second"]
    assert [(call.tool_name, call.state, call.status) for call in calls] == [
        ("note", "finished", "success"),
        ("look", "finished", "success"),
    ]


async def test_a_worker_that_slept_past_its_lease_writes_nothing_when_it_wakes(machines: Cluster) -> None:
    workers = [machines.worker(), machines.worker()]
    await machines.ready(*workers)
    session = await machines.session()
    turn = await machines.begin(session, [["look", {"key": "a", "seconds": 1}]], [["note", {"key": "b"}]], "Awake.")
    sleeper = await _who(machines, turn, workers)
    await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
    sleeper.signal(signal.SIGSTOP)
    ended = await machines.ended(turn.id)
    before = await machines.events(session)
    sleeper.signal(signal.SIGCONT)
    await asyncio.sleep(LEASE)
    after = await machines.events(session)
    again = await machines.begin(session, "Still here.")
    second = await machines.ended(again.id)

    assert (ended.status, ended.attempt) == ("done", 2)
    assert after == before
    assert machines.effects() == ["b"]
    assert second.status == "done"
    assert sleeper.popen.poll() is None, sleeper.output
