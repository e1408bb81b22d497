"""Events as frames: everything once, text as sanitised HTML."""

import json
from pathlib import Path

import pytest

from tests.gateway.kit import call, check, gateway, settings_for, text_of, types
from toolgate.testing import ScriptedModel


async def test_details_say_everything_and_nothing_twice(tmp_path: Path) -> None:
    todo = call("todo", '{"items": [{"content": "x", "status": "pending"}]}')
    model = ScriptedModel([["a", todo], "b"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        await client.data("session.subscribe", session_id=session, details=True)
        frames = await client.turn(session)
        assert types(frames) == [
            *["turn_started", "user_message", "stream_chunk", "text_end", "tool_call", "tool_started", "todos"],
            *["tool_result", "stream_chunk", "text_end", "turn_finished", "stream_chunk"],
        ]
        assert {frame["session_id"] for frame in frames} == {session}
        assert len({frame["turn_id"] for frame in frames} - {None}) == 1
        seqs = [frame["seq"] for frame in frames if "seq" in frame]
        assert seqs == sorted(set(seqs))
        for frame in frames:
            check(frame)


async def test_the_page_gets_text_as_sanitised_html(tmp_path: Path) -> None:
    model = ScriptedModel([["**bold** ", "<img src=x onerror=alert(1)>", call("current_time")], "two"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        await client.data("session.subscribe", session_id=session, details=True, render=True)
        frames = await client.turn(session)
        html = json.dumps([frame["data"] for frame in frames if frame["type"] == "markdown"])
        assert "<strong>bold</strong>" in html
        assert "<img" not in html
        assert "two" in html
        assert text_of(frames) == ""
        assert types(frames).index("text_end") < types(frames).index("tool_call")


async def test_an_event_that_cannot_be_shown_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["a", "b"])) as running, running.client() as client:
        session = await client.session()
        sessions = running.service.sessions
        lease = await sessions.try_claim(session)
        assert lease is not None
        await sessions.append_event(lease, "call_proposed", {"nonsense": True})
        await sessions.release(lease)
        await client.data("session.subscribe", session_id=session)
        assert text_of(await client.turn(session)) == "a"
        assert "event_not_shown" in caplog.text
