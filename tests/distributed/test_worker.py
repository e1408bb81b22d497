"""One process that is gateway and worker: it plays, shows and asks, and ends without losing anything."""

import asyncio
import json
import signal
from typing import Any

import pytest

from tests.distributed.cluster import Cluster, Process, until
from tests.distributed.gateways import TOKEN, Client, both, client, port_of
from tests.distributed.http import get

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

BEARER = {"Authorization": f"Bearer {TOKEN}"}


async def _talking(one: Client, *steps: Any) -> str:
    """A new session in which a turn was begun."""
    session: str = (await one.answer(await one.send("session.create")))["data"]["session_id"]
    await one.send("chat.send", session_id=session, content=json.dumps(list(steps)))
    return session


async def _gone(machines: Cluster, process: Process) -> None:
    await until(lambda: process.popen.poll() is not None, what="the end of a process", logs=machines.logs)


async def test_one_process_is_gateway_and_worker_and_shows_how_it_stands(machines: Cluster) -> None:
    port = await port_of(machines, both(machines))
    async with client(port) as one:
        session = await _talking(one, [["note", {"key": "here"}]], "Played and shown.")
        await until(lambda: one.ends, what="the end", logs=machines.logs)
        refused = await one.answer(await one.send("chat.send", session_id="elsewhere", content="Hello?"))
    status = json.loads((await asyncio.to_thread(get, f"http://127.0.0.1:{port}/status?format=json", BEARER))[1])
    metrics = await asyncio.to_thread(get, f"http://127.0.0.1:{port}/status?format=metrics", BEARER)
    counts = await asyncio.to_thread(get, f"http://127.0.0.1:{port}/metrics", BEARER)

    assert [frame["type"] for frame in one.durable] == ["tool_call", "tool_result"]
    assert one.text == "Played and shown."
    assert refused["data"]["code"] == "INVALID_PARAMS"
    assert [(turn.status, turn.attempt) for turn in await machines.sessions.turns(session)] == [("done", 1)]
    assert [(worker["state"], worker["workspaces"]) for worker in status["workers"]] == [("ready", ["main"])]
    assert (status["turns"]["done"], status["problems"]) == (1, [])
    assert 'toolgate_cluster_workers{state="ready"} 1' in metrics[1]
    assert (counts[0], "toolgate_" in counts[1]) == (200, True)


async def test_told_to_end_it_plays_its_turn_to_the_end_and_who_watches_sees_it(machines: Cluster) -> None:
    process = both(machines)
    port = await port_of(machines, process)
    async with client(port) as one:
        session = await _talking(one, [["look", {"key": "short", "seconds": 2}]], "Before I go.")
        await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
        process.signal(signal.SIGTERM)
        await _gone(machines, process)
        await until(lambda: one.reading is not None and one.reading.done(), what="the end of the connection")

    assert process.popen.returncode == 0, process.output
    assert (one.text, one.ends) == ("Before I go.", 1)
    assert [turn.status for turn in await machines.sessions.turns(session)] == ["done"]
    assert machines.effects("looks") == ["short"]


async def test_what_does_not_end_in_time_is_handed_over_to_another_process(machines: Cluster) -> None:
    first = both(machines, TOOLGATE_DISTRIBUTED_DRAIN_SECONDS="0.2")
    port = await port_of(machines, first)
    async with client(port) as one:
        session = await _talking(one, [["look", {"key": "long", "seconds": 3}]], [["note", {"key": "n"}]], "Elsewhere.")
        await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
        first.signal(signal.SIGTERM)
        await _gone(machines, first)
    [turn] = await machines.sessions.turns(session)
    between = await machines.state(turn.id)
    second = await port_of(machines, both(machines))
    async with client(second) as other:
        await other.answer(await other.send("session.subscribe", session_id=session, after_seq=0))
        await until(lambda: other.ends, what="the end", logs=machines.logs)
    ended = await machines.ended(turn.id)

    assert first.popen.returncode == 0, first.output
    assert between == "queued"
    assert (ended.status, ended.attempt) == ("done", 1)
    assert [frame["type"] for frame in other.durable] == ["tool_call", "tool_result", "tool_call", "tool_result"]
    assert machines.effects() == ["n"]


async def test_who_was_told_that_they_watch_does_though_the_log_could_not_be_read_at_first(machines: Cluster) -> None:
    port = await port_of(machines, both(machines, TEST_FLAKY="events"))
    async with client(port) as one:
        session = (await one.answer(await one.send("session.create")))["data"]["session_id"]
        subscribed = await one.answer(await one.send("session.subscribe", session_id=session, after_seq=0))
        await one.send("chat.send", session_id=session, content='[[["note", {"key": "n"}]], "Seen."]')
        await until(lambda: one.ends, what="the end", logs=machines.logs)

    assert subscribed["type"] == "response"
    assert [frame["type"] for frame in one.durable] == ["tool_call", "tool_result"]
    assert one.text == "Seen."
