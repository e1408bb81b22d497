"""Clients that watch a session see the same frames, and get what they missed."""

import asyncio
from pathlib import Path
from typing import Any

from tests.gateway.kit import call, gateway, is_done, is_type, settings_for, text_of
from toolgate.testing import ScriptedModel


async def test_who_watches_sees_the_same_frames(tmp_path: Path) -> None:
    model = ScriptedModel([["a", "b", call("current_time")], "c"])
    async with (
        gateway(settings_for(tmp_path), model) as running,
        running.client() as client,
        running.client() as watcher,
    ):
        session = await client.session()
        answer = await watcher.data("session.subscribe", session_id=session, after_seq=0)
        assert answer["session_id"] == session
        frames = await client.turn(session)
        seen = await watcher.until(is_done)
        assert [frame for frame in seen if "seq" in frame] == [frame for frame in frames if "seq" in frame]
        assert text_of(seen) == text_of(frames) == "abc"
        assert await watcher.silent()


async def test_who_comes_back_gets_what_was_missed_in_order(tmp_path: Path) -> None:
    model = ScriptedModel([["a ", call("current_time")], ["b ", call("current_time", call_id="c2")], "c"])
    async with gateway(settings_for(tmp_path), model) as running:
        async with running.client() as client:
            session = await client.session()
            frames = await client.turn(session)
        for cut in range(len(frames)):
            last = max((frame["seq"] for frame in frames[: cut + 1] if "seq" in frame), default=0)
            async with running.client() as client:
                await client.data("session.subscribe", session_id=session, after_seq=last)
                rest = await client.until(is_done)
                missed = [frame for frame in frames if frame.get("seq", 0) > last]
                assert [frame for frame in rest if "seq" in frame] == missed
                assert sum(map(is_done, rest)) == 1
                assert await client.silent(0.05)


async def test_a_subscription_beyond_the_end_sees_what_comes_next(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["a", "b"])) as running, running.client() as client:
        session = await client.session()
        await client.turn(session)
        await client.data("session.subscribe", session_id=session, after_seq=10**9)
        assert await client.silent(0.1)
        assert text_of(await client.turn(session)) == "b"


async def test_joining_in_the_middle_of_a_message_gives_all_of_it_once(tmp_path: Path) -> None:
    go = asyncio.Event()

    class Slow:
        async def stream(self, request: Any) -> Any:
            yield "one "
            await go.wait()
            yield "two"

    async with gateway(settings_for(tmp_path), Slow()) as running, running.client() as client, running.client() as late:
        session = await client.session()
        await client.send("chat.send", session_id=session, content="x")
        await client.until(is_type("stream_chunk"))
        await late.data("session.subscribe", session_id=session, after_seq=0)
        first = await late.receive()
        assert first["data"] == {"content": "one ", "done": False}
        go.set()
        assert text_of([first, *await late.until(is_done)]) == "one two"
        assert await late.silent(0.1)


async def test_a_client_that_watches_hears_the_end_of_a_request_that_it_repeats(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["one", "never"])) as running, running.client() as client:
        session = await client.session()
        await client.data("session.subscribe", session_id=session)
        await client.send("chat.send", session_id=session, content="x", request_id="mine")
        frames = await client.until(is_done)
        assert {frame["id"] for frame in frames} == {"r3"}
        await client.send("chat.send", session_id=session, content="x", request_id="mine")
        again = await client.until(is_done)
        assert [(frame["type"], frame["id"]) for frame in again] == [("stream_chunk", "r4")]
