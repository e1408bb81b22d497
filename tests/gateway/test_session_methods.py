"""Whole sessions over the wire: go back, fork, retry, list, archive, delete, export."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.gateway.kit import Client, Gateway, call, gateway, is_done, is_type, settings_for, text_of, types
from tests.support.databases import postgres_server, prepared
from toolgate.testing import ScriptedModel

WRITE = json.dumps({"path": "prices.txt", "content": "pears 2\n"})


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Any:
    """The address of a database; None for the gateway's own file."""
    if request.param == "sqlite":
        yield None
        return
    with postgres_server() as url:
        yield prepared(url)


@asynccontextmanager
async def connected(
    directory: Path, model: ScriptedModel, database: str | None = None
) -> AsyncIterator[tuple[Gateway, Client]]:
    async with gateway(settings_for(directory, database=database), model) as running, running.client() as client:
        yield running, client


async def said_seqs(client: Client, session: str) -> list[int]:
    """The numbers of the person's messages, from a subscription of another client."""
    await client.data("session.subscribe", session_id=session, details=True)
    last = (await client.data("session.get", session_id=session))["seq"]
    frames = [*await client.until(lambda frame: frame.get("seq") == last), *await client.until(is_done)]
    await client.data("session.unsubscribe", session_id=session)
    return [frame["seq"] for frame in frames if frame["type"] == "user_message"]


async def history(client: Client, session: str) -> list[str]:
    messages = (await client.data("chat.history", session_id=session))["messages"]
    return [message["content"] for message in messages]


async def test_a_rewind_is_seen_by_those_who_watch_and_by_the_model(tmp_path: Path, database: str | None) -> None:
    model = ScriptedModel(["first", "second", "third"])
    async with connected(tmp_path, model, database) as (running, client), running.client() as other:
        session = await client.session()
        await client.turn(session, "one")
        await client.turn(session, "two")
        seqs = await said_seqs(client, session)
        await other.data("session.subscribe", session_id=session, details=True, after_seq=seqs[-1])
        answer = await client.data("session.rewind", session_id=session, seq=seqs[1], files=False)
        assert answer == {"session_id": session, "seq": seqs[1], "files": {"restored": [], "refused": []}}
        seen = (await other.until(is_type("rewound")))[-1]
        assert seen["data"] == {"to_seq": seqs[1], "files": None}
        assert await history(client, session) == ["one", "first"]
        await client.turn(session, "other")
        sent = [message["content"] for message in model.requests[-1].messages if message["role"] != "system"]
        assert sent[-3:] == ["one", "first", "other"]
        refused = await client.ask("session.rewind", session_id=session, seq=seqs[1])
        assert refused["data"]["code"] == "INVALID_PARAMS"


async def test_a_rewind_takes_files_back_and_names_those_that_others_changed(tmp_path: Path) -> None:
    mine = json.dumps({"path": "mine.txt", "content": "mine\n"})
    model = ScriptedModel([[call("write_file", WRITE)], [call("write_file", mine, "c2")], "Done."])
    async with connected(tmp_path, model) as (_, client):
        session = await client.session("coding")
        await client.data("session.subscribe", session_id=session, details=True)
        await client.send("chat.send", session_id=session, content="write")
        while not is_done(frame := await client.receive()):
            if frame["type"] == "user_message":
                seq = frame["seq"]
            if frame["type"] == "approval_request":
                await client.send("approval.respond", id=frame["data"]["id"], allowed=True)
        root = tmp_path / "root"
        (root / "mine.txt").write_text("changed by a person\n")
        changes = await client.data("changes.list", session_id=session)
        assert [(row["path"], row["kind"], row["added"]) for row in changes["files"]] == [
            ("prices.txt", "created", 1),
            ("mine.txt", "created", 1),
        ]
        answer = await client.data("session.rewind", session_id=session, seq=seq, files=True)
        assert answer["files"]["restored"] == ["prices.txt"]
        assert [row["path"] for row in answer["files"]["refused"]] == ["mine.txt"]
        assert not (root / "prices.txt").exists()
        assert (root / "mine.txt").read_text() == "changed by a person\n"
        seen = (await client.until(is_type("rewound")))[-1]
        assert seen["data"]["files"] == answer["files"]


async def test_retry_and_resend_take_the_place_of_the_last_message(tmp_path: Path, database: str | None) -> None:
    model = ScriptedModel(["one", "two", "three", "four"])
    async with connected(tmp_path, model, database) as (_, client):
        session = await client.session()
        refused = await client.ask("chat.retry", session_id=session)
        assert refused["data"]["code"] == "INVALID_PARAMS"
        await client.turn(session, "hello")
        await client.turn(session, "again")
        await client.send("chat.retry", session_id=session, request_id="r")
        assert text_of(await client.until(is_done)) == "three"
        assert await history(client, session) == ["hello", "one", "again", "three"]
        await client.send("chat.retry", session_id=session, request_id="r")
        await client.until(is_done)
        assert len(model.requests) == 3, "the same request starts no second turn"
        await client.send("chat.resend", session_id=session, content="better")
        assert text_of(await client.until(is_done)) == "four"
        assert await history(client, session) == ["hello", "one", "better", "four"]


async def test_a_message_that_is_too_long_replaces_nothing(tmp_path: Path) -> None:
    async with connected(tmp_path, ScriptedModel(["one"])) as (_, client):
        session = await client.session()
        await client.turn(session, "hello")
        refused = await client.ask("chat.resend", session_id=session, content="€" * 1_000 + "a" * 1_047_000)
        assert refused["data"]["code"] == "INVALID_PARAMS"
        assert await history(client, session) == ["hello", "one"]


async def test_a_fork_is_a_session_of_the_same_user_with_its_outputs(tmp_path: Path, database: str | None) -> None:
    long = call("Bash", json.dumps({"command": "seq 1 40000"}))
    async with connected(tmp_path, ScriptedModel([[long], "one", "two"]), database) as (_, client):
        session = await client.session("coding")
        await client.turn(session, "count")
        made = await client.data("session.fork", session_id=session)
        assert made["mode"] == "coding"
        assert await history(client, made["session_id"]) == ["count", "one"]
        await client.data("session.subscribe", session_id=made["session_id"], details=True)
        frames = await client.until(is_type("forked"))
        assert types(frames)[:2] == ["turn_started", "user_message"]
        link = next(frame["data"]["full_output"] for frame in frames if frame["type"] == "tool_result")
        assert link.startswith(f"/sessions/{made['session_id']}/")
        stored = [path for path in (tmp_path / "root" / ".toolgate" / "outputs").iterdir() if path.is_dir()]
        assert len(stored) == 2
        await client.data("session.delete", session_id=session)
        assert [len(list(folder.iterdir())) for folder in stored if folder.exists()] == [1]


async def test_the_list_shows_only_sessions_with_a_message_and_finds_contents(tmp_path: Path) -> None:
    async with connected(tmp_path, ScriptedModel(["About plums."])) as (_, client):
        for _ in range(4):
            await client.session()
        session = await client.session()
        await client.turn(session, "hello")
        [row] = (await client.data("session.list"))["sessions"]
        assert (row["session_id"], row["status"], row["archived"], row["snippet"]) == (session, "idle", False, "")
        [row] = (await client.data("session.list", search="PLUMS"))["sessions"]
        assert row["snippet"] == "About plums."
        assert (await client.data("session.list", search="cherries"))["sessions"] == []
        await client.data("session.archive", session_id=session, archived=True)
        assert (await client.data("session.list"))["sessions"] == []
        [row] = (await client.data("session.list", archived=True))["sessions"]
        assert row["archived"] is True


async def test_a_deleted_session_is_gone_for_everybody(tmp_path: Path, database: str | None) -> None:
    async with connected(tmp_path, ScriptedModel(["one"]), database) as (running, client), running.client() as other:
        session = await client.session()
        await client.turn(session, "hello")
        await other.data("session.subscribe", session_id=session, details=True)
        await other.until(is_done)
        assert await client.data("session.delete", session_id=session) == {"session_id": session, "deleted": True}
        assert (await other.until(is_type("session_deleted")))[-1]["session_id"] == session
        refused = await other.ask("chat.send", session_id=session, content="still there?")
        assert (refused["data"]["code"], refused["data"]["message"]) == ("INVALID_PARAMS", "There is no such session.")
        assert (await client.data("session.list"))["sessions"] == []


async def test_a_session_is_deleted_while_its_turn_runs_only_if_that_is_asked_for(
    tmp_path: Path, database: str | None
) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "sleep 60"}')], "no"])
    async with connected(tmp_path, model, database) as (_, client):
        session = await client.session("coding")
        await client.send("chat.send", session_id=session, content="wait")
        await client.until(is_type("tool_call"))
        refused = await client.ask("session.delete", session_id=session)
        assert refused["data"]["code"] == "SESSION_BUSY"
        assert "cancel" in refused["data"]["message"]
        assert (await client.data("session.delete", session_id=session, cancel=True))["deleted"] is True
        assert (await client.ask("session.get", session_id=session))["data"]["code"] == "INVALID_PARAMS"


async def test_a_turn_of_another_gateway_is_ended_before_its_session_is_deleted(
    tmp_path: Path, database: str | None
) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "sleep 60"}')], "no"])
    settings = settings_for(tmp_path, database=database)
    async with (
        gateway(settings, model) as first,
        gateway(settings, ScriptedModel([])) as second,
        first.client() as client,
        second.client() as other,
    ):
        session = await client.session("coding")
        await client.send("chat.send", session_id=session, content="wait")
        await client.until(is_type("tool_call"))
        refused = await other.ask("session.delete", session_id=session)
        assert refused["data"]["code"] == "SESSION_BUSY"
        assert await other.data("session.delete", session_id=session, cancel=True)
        assert (await client.ask("session.get", session_id=session))["type"] == "error"


async def test_an_export_has_the_conversation_or_the_whole_log(tmp_path: Path) -> None:
    async with connected(tmp_path, ScriptedModel(["An answer.", "A slip."])) as (_, client):
        session = await client.session()
        await client.turn(session, "About Pears & Plums")
        await client.turn(session, "wrong")
        await client.data("session.rewind", session_id=session, seq=(await said_seqs(client, session))[1])
        markdown = await client.data("session.export", session_id=session, format="markdown")
        assert markdown["name"] == "about-pears-plums.md"
        assert "An answer." in markdown["content"]
        assert "A slip." not in markdown["content"]
        document = json.loads((await client.data("session.export", session_id=session, format="json"))["content"])
        assert [event["seq"] for event in document["events"]] == list(range(1, len(document["events"]) + 1))
        assert "A slip." in json.dumps(document)


async def test_sessions_of_others_do_not_exist(tmp_path: Path) -> None:
    tokens = SecretStr(f"ann:{'a' * 32},bob:{'b' * 32}")
    async with (
        gateway(settings_for(tmp_path, tokens=tokens), ScriptedModel(["hi"])) as running,
        running.client("a" * 32) as ann,
        running.client("b" * 32) as bob,
    ):
        session = await ann.session("coding")
        await ann.turn(session, "mine")
        for method, params in (
            ("session.rewind", {"seq": 2}),
            ("session.fork", {}),
            ("session.delete", {"cancel": True}),
            ("session.archive", {"archived": True}),
            ("session.export", {"format": "json"}),
            ("chat.retry", {}),
            ("chat.resend", {"content": "x"}),
            ("changes.list", {}),
            ("changes.undo", {"all": True}),
            ("files.list", {}),
            ("files.read", {"path": "x"}),
            ("files.complete", {"query": "x"}),
            ("commands.list", {}),
        ):
            frame = await bob.ask(method, session_id=session, **params)
            assert (frame["type"], frame["data"]["message"]) == ("error", "There is no such session."), method
        assert await history(ann, session) == ["mine", "hi"]
