"""Gateways that play nothing themselves: every one of them shows every turn, whoever plays it."""

import json

import pytest

from tests.distributed.cluster import Cluster, until
from tests.distributed.gateways import client, gateway, port_of

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


async def test_clients_of_any_gateway_see_each_durable_frame_once_though_a_gateway_and_a_worker_die(
    machines: Cluster,
) -> None:
    gateways = [gateway(machines), gateway(machines)]
    workers = [machines.worker(TEST_MODEL_PAUSE="0.6"), machines.worker(TEST_MODEL_PAUSE="0.6")]
    ports = [await port_of(machines, process) for process in gateways]
    await machines.ready(*workers)
    steps = [[["look", {"key": "a", "seconds": 1}]], [["note", {"key": "b"}]], "The end of it."]
    async with client(ports[0]) as first, client(ports[1]) as second:
        created = await first.answer(await first.send("session.create"))
        session = created["data"]["session_id"]
        await second.answer(await second.send("session.subscribe", session_id=session, after_seq=0))
        await first.send("chat.send", session_id=session, content=json.dumps(steps))
        await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
        await machines.kill(workers[0])
        await until(lambda: second.durable, what="a frame", logs=machines.logs)
        gateways[0].kill()
        await until(lambda: second.ends, what="the end", logs=machines.logs)
    async with client(ports[1]) as third:
        await third.answer(await third.send("session.subscribe", session_id=session, after_seq=0))
        await until(lambda: third.ends, what="the replay", logs=machines.logs)
    kinds = [frame["type"] for frame in second.durable]

    assert kinds == ["tool_call", "tool_result", "tool_call", "tool_result"]
    assert [f["seq"] for f in second.durable] == sorted({f["seq"] for f in second.durable})
    assert third.durable == second.durable
    assert second.text.endswith("The end of it.")
    assert machines.effects() == ["b"]


async def test_text_is_seen_while_it_is_written_and_refusals_are_frames(machines: Cluster) -> None:
    gateways = [gateway(machines, TOOLGATE_LIMITS_TURNS_PER_MINUTE="2")]
    port = await port_of(machines, gateways[0])
    async with client(port) as one:
        session = (await one.answer(await one.send("session.create")))["data"]["session_id"]
        early = await one.answer(await one.send("chat.send", session_id=session, content='["Hello"]'))
        await machines.ready(machines.worker(TEST_MODEL_PAUSE="6"))
        await one.send("chat.send", session_id=session, content='["Good morning to you."]')
        await until(lambda: one.text, what="some text", logs=machines.logs)
        begun = one.text
        busy = await one.answer(await one.send("chat.send", session_id=session, content='["Again"]'))
        await until(lambda: one.ends, what="the end", logs=machines.logs)
        ended = one.text
        other = (await one.answer(await one.send("session.create")))["data"]["session_id"]
        await one.send("chat.send", session_id=other, content='["Second"]')
        cancelled = await one.answer(await one.send("chat.cancel", session_id=other))
        await until(lambda: one.ends == 2, what="the end of the second", logs=machines.logs)
        limited = await one.answer(await one.send("chat.send", session_id=other, content='["Third"]'))

    assert early["data"]["code"] == "SESSION_BUSY"
    assert "No worker serves the workspace 'main'" in early["data"]["message"]
    assert begun == "Good mornin"[: len(begun)]
    assert ended == "Good morning to you."
    assert busy["data"]["code"] == "SESSION_BUSY"
    assert cancelled["data"]["cancelled"] is True
    assert "2 messages in the last minute" in limited["data"]["message"]
