"""The protocol, from the outside: a real server, a real socket."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import PATIENCE, TOKEN, call, gateway, is_done, is_type, settings_for, text_of, types
from toolgate.protocol.requests import METHODS
from toolgate.testing import ScriptedModel


async def test_every_method_has_a_handler_and_every_handler_a_method(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        await client.data("tools.list")
        (connection,) = running.service.connections
    handled = connection._methods._by_name.keys()
    differing = sorted(METHODS.keys() - handled), sorted(handled - METHODS.keys())
    assert differing == ([], []), (
        "without a row in gateway/methods.py or in a by_name beside it, and without one in METHODS"
    )


async def test_a_turn_is_calls_results_text_and_one_end(tmp_path: Path) -> None:
    model = ScriptedModel([["Look: ", call("current_time")], ["It ", "is late."]])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        frames = await client.turn(session, "What time is it?")
        assert types(frames) == ["stream_chunk", "tool_call", "tool_result", *["stream_chunk"] * 3]
        assert {frame["id"] for frame in frames} == {"r2"}
        assert frames[1]["data"] == {"call_id": "c1", "tool_name": "current_time", "arguments": {}}
        assert (frames[2]["data"]["call_id"], frames[2]["data"]["status"]) == ("c1", "success")
        assert frames[1]["seq"] < frames[2]["seq"]
        assert [is_done(frame) for frame in frames] == [False] * 5 + [True]
        assert text_of(frames) == "Look: It is late."
        assert await client.silent()


async def test_a_denied_call_is_a_middle_event_of_six_fields(tmp_path: Path) -> None:
    model = ScriptedModel([[call("read_file", '{"path": "x"}')], "Then not."])
    async with gateway(settings_for(tmp_path, coding=False), model) as running, running.client() as client:
        frames = await client.turn(await client.session())
        assert types(frames) == ["tool_call", "tool_denied", "stream_chunk", "stream_chunk"]
        assert set(frames[1]["data"]) == {"tool_name", "call_id", "mode", "error_code", "message", "next_action"}
        assert frames[1]["data"]["error_code"] == "MODE_DENIED"
        assert all(frames[1]["data"].values())
        assert text_of(frames[2:]) == "Then not."


async def test_session_create_answers_id_and_mode(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        assert set(await client.data("session.create")) == {"session_id", "mode"}
        assert (await client.data("session.create", mode="coding"))["mode"] == "coding"


async def test_a_mode_that_is_not_enabled_is_an_error_of_its_own(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path, coding=False)) as running, running.client() as client:
        frame = await client.ask("session.create", mode="coding")
        assert (frame["type"], frame["data"]["code"]) == ("error", "MODE_NOT_ENABLED")


MALFORMED: list[tuple[str, str, Any]] = [
    ("nonsense", "PARSE_ERROR", None),
    ("[]", "PARSE_ERROR", None),
    ("null", "PARSE_ERROR", None),
    ("{}", "PARSE_ERROR", None),
    ('{"type": "request", "method": "tools.list"}', "PARSE_ERROR", None),
    ('{"type": "request", "id": null, "method": "tools.list"}', "PARSE_ERROR", None),
    ('{"type": "request", "id": "", "method": "tools.list"}', "PARSE_ERROR", None),
    ('{"type": "request", "id": true, "method": "tools.list"}', "PARSE_ERROR", None),
    ('{"type": "request", "id": 1.5, "method": "tools.list"}', "PARSE_ERROR", None),
    ('{"type": "request", "id": {"a": 1}, "method": "tools.list"}', "PARSE_ERROR", None),
    ('{"type": "reply", "id": "a", "method": "tools.list"}', "PARSE_ERROR", "a"),
    ('{"type": "request", "id": "a"}', "PARSE_ERROR", "a"),
    ('{"type": "request", "id": "a", "method": "tools.list", "more": 1}', "PARSE_ERROR", "a"),
    ('{"type": "request", "id": "a", "method": "tools.list", "params": []}', "INVALID_PARAMS", "a"),
    ('{"type": "request", "id": "a", "method": "tools.list", "params": null}', "INVALID_PARAMS", "a"),
    ('{"type": "request", "method": "tools.list", "params": []}', "PARSE_ERROR", None),
    ('{"type": "request", "id": "a", "method": "session.set_mode"}', "METHOD_NOT_FOUND", "a"),
    ('{"type": "request", "id": 7, "method": "chat.send"}', "INVALID_PARAMS", 7),
    ('{"type": "request", "id": "a", "method": "tools.list", "params": {"x": 1}}', "INVALID_PARAMS", "a"),
    (
        '{"type": "request", "id": "a", "method": "chat.send", "params": {"session_id": 5, "content": "x"}}',
        "INVALID_PARAMS",
        "a",
    ),
    (
        '{"type": "request", "id": "a", "method": "chat.send", "params": {"session_id": "nobody", "content": "x"}}',
        "INVALID_PARAMS",
        "a",
    ),
    (
        '{"type": "request", "id": "a", "method": "session.create", "params": {"mode": "root"}}',
        "INVALID_PARAMS",
        "a",
    ),
]


async def test_malformed_input_gets_one_error_and_the_connection_lives(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        for text, code, answered in MALFORMED:
            await client.raw(text)
            frame = await client.receive()
            assert (frame["type"], frame["id"], frame["data"]["code"]) == ("error", answered, code), text
            assert frame["data"]["message"]
            assert (await client.data("session.create"))["mode"] == "chat_safe"


async def test_ids_come_back_as_they_were(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["Hi."] * 3)) as running, running.client() as client:
        session = await client.session()
        for given in (17, "17", 'ü/"\\ \n'):
            params = {"session_id": session, "content": "x"}
            await client.raw(json.dumps({"type": "request", "id": given, "method": "chat.send", "params": params}))
            assert {json.dumps(frame["id"]) for frame in await client.until(is_done)} == {json.dumps(given)}


async def test_a_second_turn_at_the_same_time_gets_only_its_error(tmp_path: Path) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "sleep 30"}')], "no"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await client.send("chat.send", session_id=session, content="one")
        await client.until(is_type("tool_call"))
        frame = await client.ask("chat.send", session_id=session, content="two")
        assert (frame["type"], frame["data"]["code"]) == ("error", "SESSION_BUSY")
        assert (await client.data("chat.cancel", session_id=session))["cancelled"] is True
        frames = await client.until(is_done)
        assert types(frames) == ["tool_result", "stream_chunk"]
        assert frames[0]["data"]["code"] == "CANCELLED"


@pytest.mark.parametrize("content", ["", " \n\t", "\u3000"])
async def test_a_message_without_words_and_pictures_starts_no_turn(tmp_path: Path, content: str) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["An answer."])) as running, running.client() as client:
        session = await client.session()
        frame = await client.ask("chat.send", session_id=session, content=content)
        assert (frame["type"], frame["data"]["code"]) == ("error", "INVALID_PARAMS")
        assert "attach a picture" in frame["data"]["message"]
        assert (await client.data("chat.history", session_id=session))["messages"] == []
        await client.turn(session)
        frame = await client.ask("chat.resend", session_id=session, content=content)
        assert frame["data"]["code"] == "INVALID_PARAMS"
        assert (await client.data("session.get", session_id=session))["turns"] == 1


async def test_cancelling_nothing_is_said(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        session = await client.session()
        assert await client.data("chat.cancel", session_id=session) == {"session_id": session, "cancelled": False}


async def test_a_failed_turn_is_an_error_and_then_the_last_chunk(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        frames = await client.turn(await client.session())
        assert types(frames) == ["error", "stream_chunk"]
        assert frames[0]["data"]["code"] == "INTERNAL_ERROR"
        assert {frame["id"] for frame in frames} == {"r2"}


async def test_history_list_get_rename_and_search(tmp_path: Path) -> None:
    async with (
        gateway(settings_for(tmp_path), ScriptedModel(["An answer.", "x"])) as running,
        running.client() as client,
    ):
        first, second = await client.session(), await client.session()
        await client.turn(first, "About Apples\nand more")
        await client.turn(second, "Pears")
        assert (await client.data("chat.history", session_id=first))["messages"] == [
            {"role": "user", "content": "About Apples\nand more"},
            {"role": "assistant", "content": "An answer."},
        ]
        listed = (await client.data("session.list"))["sessions"]
        assert [(item["session_id"], item["title"]) for item in listed] == [
            (second, "Pears"),
            (first, "About Apples"),
        ]
        found = (await client.data("session.list", search="APPLES about"))["sessions"]
        assert [item["session_id"] for item in found] == [first]
        await client.data("session.rename", session_id=first, title="Fruit")
        got = await client.data("session.get", session_id=first)
        assert (got["title"], got["running"], got["turns"]) == ("Fruit", False, 1)
        assert got["todos"] == []


async def test_tools_are_listed_with_their_modes(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path, coding=False)) as running, running.client() as client:
        listed = await client.data("tools.list")
        tools = {tool["name"]: tool for tool in listed["tools"]}
        assert tools["read_file"]["modes"] == ["coding"]
        assert tools["current_time"]["modes"] == ["chat_safe", "coding"]
        assert listed["enabled_modes"] == ["chat_safe"]


async def test_a_named_request_that_is_sent_twice_starts_one_turn(tmp_path: Path) -> None:
    model = ScriptedModel([["a", call("current_time")], "b", "never"])
    async with gateway(settings_for(tmp_path), model) as running:
        async with running.client() as client:
            session = await client.session()
            await client.send("chat.send", session_id=session, content="x", request_id="mine")
            frames = await client.until(is_done)
            assert {frame["id"] for frame in frames} == {"r2"}
        async with running.client() as client:
            client.number = 10
            await client.send("chat.send", session_id=session, content="x", request_id="mine")
            again = await client.until(is_done)
            durable = [{**frame, "id": "r11"} for frame in frames if "seq" in frame]
            assert [frame for frame in again if "seq" in frame] == durable
            assert {frame["id"] for frame in again} == {"r11"}
            assert text_of(again) == "ab"
            assert len((await client.data("chat.history", session_id=session))["messages"]) == 3


async def test_a_named_request_that_is_sent_twice_at_once_starts_one_turn(tmp_path: Path) -> None:
    model = ScriptedModel(["one", "never"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as first, running.client() as second:
        session = await first.session()
        for client in (first, second, first):
            await client.send("chat.send", session_id=session, content="x", request_id="mine")
        assert text_of(await second.until(is_done)) == "one"
        heard = [*await first.until(is_done), *await first.until(is_done)]
        for name in ("r2", "r3"):
            assert text_of(frame for frame in heard if frame["id"] == name) == "one"
        assert len(model.requests) == 1


async def test_a_request_without_a_name_starts_a_turn_for_every_frame(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["one", "two"])) as running, running.client() as client:
        session = await client.session()
        params = {"session_id": session, "content": "x"}
        for answer in ("one", "two"):
            await client.raw(json.dumps({"type": "request", "id": "same", "method": "chat.send", "params": params}))
            assert text_of(await client.until(is_done)) == answer


async def test_a_name_counts_in_its_session_only(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["one", "two"])) as running, running.client() as client:
        for answer in ("one", "two"):
            session = await client.session()
            await client.send("chat.send", session_id=session, content="x", request_id="mine")
            assert text_of(await client.until(is_done)) == answer


async def test_a_client_that_asks_too_much_is_read_more_slowly(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path, max_requests_per_second=20)) as running, running.client() as client:
        begun = time.monotonic()
        for _ in range(60):
            await client.send("session.unsubscribe", session_id="x")
        for _ in range(60):
            assert (await client.receive())["type"] == "response"
        assert time.monotonic() - begun > 0.8


async def test_turns_at_a_time_are_limited(tmp_path: Path) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "sleep 30"}')], "no", "later"])
    async with gateway(settings_for(tmp_path, max_turns=1), model) as running, running.client() as client:
        first, second = await client.session("coding"), await client.session()
        await client.send("chat.send", session_id=first, content="one")
        await client.until(is_type("tool_call"))
        frame = await client.ask("chat.send", session_id=second, content="two")
        assert (frame["type"], frame["data"]["code"]) == ("error", "SESSION_BUSY")
        await client.data("chat.cancel", session_id=first)
        await client.until(is_done)
        assert text_of(await client.turn(second)) in ("no", "later")


async def test_what_clients_say_has_no_token_in_it(tmp_path: Path) -> None:
    write = call("write_file", '{"path": "x", "content": "y"}')
    model = ScriptedModel([[f"I know {TOKEN[:9]}", f"{TOKEN[9:]}!", write], "ok"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        assert (await client.data("session.rename", session_id=session, title=f"a {TOKEN}"))["title"] == "a [redacted]"
        await client.send("chat.send", session_id=session, content=f"It is {TOKEN}.")
        frames = await client.until(is_type("approval_request"))
        await client.data("approval.respond", id=frames[-1]["data"]["id"], allowed=False, message=f"no, {TOKEN}")
        frames += await client.until(is_done)
        frames.append(await client.ask("chat.history", session_id=session))
        assert TOKEN not in json.dumps(frames)
        assert "no, [redacted]" in json.dumps(frames)
        assert "[redacted]!" in text_of(frames[:-1])
        assert TOKEN not in json.dumps([event.payload for event in await running.service.sessions.events(session)])


async def test_nothing_is_kept_of_clients_that_are_gone(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["a"] * 4)) as running:
        for _ in range(2):
            async with running.client() as client:
                session = await client.session()
                await client.turn(session)
                await client.data("session.subscribe", session_id=session)
                await client.turn(session)
        async with asyncio.timeout(PATIENCE):
            while running.service.connections or len(running.service.channels):
                await asyncio.sleep(0.02)


async def test_text_is_rendered_on_request(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        blocks = await client.data("text.render", text="a *b*\n\n<i>c</i>", format="markdown")
        assert blocks == {"html": ["<p>a <em>b</em></p>\n", "<p>&lt;i&gt;c&lt;/i&gt;</p>\n"]}
        code = await client.data("text.render", text="if x:\n  y", format="code", path="a/b.py")
        assert code == {"html": ['<span class="k">if</span> x:', "  y"]}
        assert await client.data("text.render", text="if x:", format="code", path="a.unknown") == {"html": None}
        diff = await client.data("text.render", text="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+1", format="diff")
        assert diff["html"][3:] == ["a", '<span class="n">1</span>']


async def test_details_say_when_things_happened(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        session = await client.session()
        before = time.time()
        await client.turn(session, "current_time")
        await client.data("session.subscribe", session_id=session, details=True)
        frames = await client.until(is_type("turn_finished"))
        times = [frame["at"] for frame in frames if "seq" in frame]
        assert times == sorted(times)
        assert before - 1 < times[0] <= times[-1] < time.time() + 1
