"""Workers that die or sleep in the middle of a turn: somebody else goes on, and nothing is done twice."""

import asyncio
import signal
from typing import Any

import pytest

from tests.distributed.cluster import LEASE, SHORT_LEASE, Cluster, Process, until
from tests.distributed.faults import proxied
from toolgate.distributed import workers
from toolgate.sessions import Event

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


def _kinds(events: list[Event], kind: str) -> list[dict[str, Any]]:
    return [event.payload for event in events if event.kind == kind]


async def test_a_call_that_had_started_is_not_repeated_and_the_model_is_told(machines: Cluster) -> None:
    await machines.ready(machines.worker(), machines.worker())
    session = await machines.session()
    turn = await machines.begin(session, [["note", {"key": "once", "seconds": 20}]], "Then this.")
    victim = await machines.player(turn.id)
    await until(lambda: _started(machines, session), what="the call to start", logs=machines.logs)
    victim.kill()
    ended = await machines.ended(turn.id)
    events = await machines.events(session)
    transcript = await machines.sessions.messages(session)

    resumed = next(place for place, event in enumerate(events) if event.kind == "turn_resumed")

    assert (ended.status, ended.attempt, ended.id) == ("done", 2, turn.id)
    assert events[resumed].created_at - events[resumed - 1].created_at < 10 * LEASE
    assert [call["uncertain"] for call in _kinds(events, "call_finished")] == [True]
    assert "Nobody knows how far it got" in transcript[2].content
    assert [message.role for message in transcript] == ["user", "assistant", "tool", "assistant"]
    assert len(_kinds(events, "call_proposed")) == len(_kinds(events, "turn_started")) == 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert machines.effects() in ([], ["once"])


async def _started(machines: Cluster, session: str) -> bool:
    return any(call.state == "started" for call in await machines.sessions.calls(session))


async def test_what_only_reads_is_repeated_and_what_has_ended_is_not(machines: Cluster) -> None:
    await machines.ready(machines.worker(), machines.worker())
    session = await machines.session()
    together = [["note", {"key": "second"}], ["look", {"key": "third", "until": "third"}]]
    steps = [[["note", {"key": "first"}]], together, "Seen."]
    turn = await machines.begin(session, *steps)
    victim = await machines.player(turn.id)
    await until(lambda: machines.effects("looks") == ["third"], what="the look", logs=machines.logs)
    await machines.kill(victim)
    machines.let("third")
    ended = await machines.ended(turn.id)
    calls = await machines.sessions.calls(session)

    assert (ended.status, ended.attempt) == ("done", 2)
    assert machines.effects() == ["first", "second"]
    assert machines.effects("looks") == ["third", "third"]
    assert [(call.tool_name, call.state, call.status) for call in calls] == [
        ("note", "finished", "success"),
        ("note", "finished", "success"),
        ("look", "finished", "success"),
    ]


async def test_a_worker_that_slept_past_its_lease_writes_nothing_when_it_wakes(machines: Cluster) -> None:
    await machines.ready(machines.worker(), machines.worker())
    session = await machines.session()
    look = ["look", {"key": "a", "until": "asleep"}]
    turn = await machines.begin(session, [look], [["note", {"key": "b"}]], "Awake.")
    sleeper = await machines.player(turn.id)
    await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
    sleeper.signal(signal.SIGSTOP)
    machines.let("asleep")
    ended = await machines.ended(turn.id)
    before = await machines.events(session)
    sleeper.signal(signal.SIGCONT)
    await until(lambda: _is_idle(machines, sleeper), what="the sleeper to let go", logs=machines.logs)
    after = await machines.events(session)
    again = await machines.begin(session, "Still here.")
    second = await machines.ended(again.id)

    assert (ended.status, ended.attempt) == ("done", 2)
    assert after == before
    assert machines.effects() == ["b"]
    assert second.status == "done"
    assert sleeper.popen.poll() is None, sleeper.output


async def _is_idle(machines: Cluster, process: Process) -> bool:
    """Whether a worker has said that it plays nothing; nobody else has said so of it."""
    found = await machines.db.read(workers.all_workers)
    return any(one.name.endswith(f":{process.popen.pid}") and (one.state, one.running) == ("ready", 0) for one in found)


async def test_a_turn_that_breaks_its_player_every_time_ends_as_failed_and_the_worker_goes_on(
    machines: Cluster,
) -> None:
    broken, whole = machines.worker("broken", TEST_BREAK="1"), machines.worker()
    await machines.ready(broken, whole)
    session = await machines.session(project="broken")
    ended = await machines.ended((await machines.begin(session, "Not played.")).id)
    fine = await machines.ended((await machines.begin(await machines.session(), "Played.")).id)

    assert (ended.status, ended.error) == ("failed", "The turn could not be run (ZeroDivisionError).")
    assert fine.status == "done"
    assert broken.popen.poll() is None
    assert await machines.sessions.try_claim(session) is not None


async def test_a_worker_that_loses_its_database_for_longer_than_its_lease_cancels_nothing_by_it(
    hurried: Cluster,
) -> None:
    async with proxied(hurried.url) as (proxy, way):
        worker = hurried.worker(TOOLGATE_DATABASE_URL=way)
        await hurried.ready(worker)
        session = await hurried.session()
        steps = [[["look", {"key": "seen", "seconds": SHORT_LEASE * 3}]], [["note", {"key": "noted"}]], "Both."]
        turn = await hurried.begin(session, *steps)
        await until(lambda: hurried.effects("looks"), what="the look", logs=hurried.logs)
        proxy.swallow()  # nothing is refused and nothing comes back; nobody else is there to take the turn over
        await asyncio.sleep(SHORT_LEASE * 1.5)
        proxy.heal()
        ended = await hurried.ended(turn.id)
        calls = await hurried.sessions.calls(session)

    assert ended.status == "done"
    assert [(call.tool_name, call.state, call.status) for call in calls] == [
        ("look", "finished", "success"),
        ("note", "finished", "success"),
    ]
    assert hurried.effects() == ["noted"]


async def test_a_call_whose_start_could_not_be_written_is_tried_again_and_the_model_does_not_hear_of_it(
    hurried: Cluster,
) -> None:
    await hurried.ready(hurried.worker(TEST_FLAKY="started"))
    session = await hurried.session()
    ended = await hurried.ended((await hurried.begin(session, [["note", {"key": "once"}]], "Noted.")).id)
    calls = await hurried.sessions.calls(session)

    assert ended.status == "done"
    assert [(call.tool_name, call.state, call.status) for call in calls] == [("note", "finished", "success")]
    assert hurried.effects() == ["once"]
