"""The project over the wire: what it is, its files, and what a session has changed in them."""

import json
import subprocess
from pathlib import Path

from pydantic import SecretStr

from tests.gateway.kit import Client, call, gateway, is_done, is_type, settings_for
from toolgate.testing import ScriptedModel


def a_project(directory: Path) -> Path:
    """A small repository with a README, a test and one commit."""
    root = directory / "root"
    (root / "tests").mkdir(parents=True)
    (root / "src" / "deep").mkdir(parents=True)
    (root / "README.md").write_text("# Shop\n")
    (root / "src" / "deep" / "prices.py").write_text("PEARS = 2\n")
    (root / "tests" / "test_prices.py").write_text("def test(): pass\n")
    (root / ".gitignore").write_text("junk/\n")
    (root / "junk").mkdir()
    (root / "junk" / "prices.log").write_text("x")
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Sell pears"],
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


async def test_without_the_stage_no_file_is_shown(tmp_path: Path) -> None:
    a_project(tmp_path)
    async with gateway(settings_for(tmp_path, coding=False), ScriptedModel([])) as running, running.client() as client:
        session = await client.session()
        for method, params in (("files.list", {}), ("files.read", {"path": "README.md"}), ("changes.list", {})):
            frame = await client.ask(method, session_id=session, **params)
            assert frame["data"]["code"] == "MODE_NOT_ENABLED"
        info = await client.data("project.info")
        assert (info["name"], info["branch"], info["sandbox"], info["coding_enabled"]) == ("root", "", "", False)


async def test_files_of_another_project_are_not_shown_in_this_one(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    url = f"sqlite:///{tmp_path}/shared.db"
    for directory in (here, there):
        directory.mkdir()
    async with gateway(settings_for(here, database=url), ScriptedModel([])) as one, one.client() as client:
        session = await client.session("coding")
    async with gateway(settings_for(there, database=url), ScriptedModel([])) as two, two.client() as client:
        frame = await client.ask("files.list", session_id=session)
        assert "another project" in frame["data"]["message"]


async def written(client: Client, session: str) -> None:
    """Take a turn in which everything that is asked for is allowed."""
    await client.data("session.subscribe", session_id=session, details=True)
    await client.send("chat.send", session_id=session, content="write")
    while not is_done(frame := await client.receive()):
        if frame["type"] == "approval_request":
            await client.send("approval.respond", id=frame["data"]["id"], allowed=True)


async def test_changes_are_listed_and_taken_back_per_call_per_file_and_all(tmp_path: Path) -> None:
    root = a_project(tmp_path)

    def write(path: str, content: str, number: str) -> object:
        return call("write_file", json.dumps({"path": path, "content": content}), number)

    turns = [
        [write("a.txt", "one\n", "c1"), write("b.txt", "b\n", "c2")],
        [write("a.txt", "one\ntwo\n", "c3")],
        [write("c.txt", "c\n", "c4")],
        "Done.",
    ]
    model = ScriptedModel(turns)
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await written(client, session)
        changes = await client.data("changes.list", session_id=session)
        rows = {row["path"]: row for row in changes["files"]}
        assert (changes["added"], changes["removed"]) == (4, 0)
        assert rows["a.txt"]["calls"] == [
            {"call_id": "c1", "added": 1, "removed": 0},
            {"call_id": "c3", "added": 1, "removed": 0},
        ]
        assert "+two" in rows["a.txt"]["diff"]
        under = await client.data("changes.undo", session_id=session, call_id="c1")
        assert [row["path"] for row in under["refused"]] == ["a.txt"], "a later call wrote on top of it"
        assert (await client.data("changes.undo", session_id=session, call_id="c3"))["restored"] == ["a.txt"]
        assert (root / "a.txt").read_text() == "one\n"
        assert (await client.data("changes.undo", session_id=session, path="b.txt"))["restored"] == ["b.txt"]
        assert (await client.until(is_type("files_taken_back")))[-1]["data"]["refused"]
        everything = await client.data("changes.undo", session_id=session, all=True)
        assert sorted(everything["restored"]) == ["a.txt", "c.txt"]
        assert (await client.data("changes.list", session_id=session))["files"] == []
        assert not (root / "a.txt").exists()
        for bad in ({}, {"all": True, "path": "a.txt"}, {"path": "../x"}):
            assert (await client.ask("changes.undo", session_id=session, **bad))["data"]["code"] == "INVALID_PARAMS"


async def test_nothing_is_taken_back_while_a_turn_runs(tmp_path: Path) -> None:
    a_project(tmp_path)
    model = ScriptedModel([[call("Bash", '{"command": "sleep 60"}')], "no"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await client.send("chat.send", session_id=session, content="wait")
        await client.until(is_type("tool_call"))
        frame = await client.ask("changes.undo", session_id=session, all=True)
        assert frame["data"]["code"] == "SESSION_BUSY"
        await client.data("chat.cancel", session_id=session)


async def test_changes_of_other_sessions_are_not_listed(tmp_path: Path) -> None:
    a_project(tmp_path)
    tokens = SecretStr(f"ann:{'a' * 32},bob:{'b' * 32}")
    model = ScriptedModel([[call("write_file", json.dumps({"path": "a.txt", "content": "x"}))], "Done."])
    async with (
        gateway(settings_for(tmp_path, tokens=tokens), model) as running,
        running.client("a" * 32) as ann,
        running.client("b" * 32) as bob,
    ):
        await written(ann, await ann.session("coding"))
        other = await bob.session("coding")
        assert (await bob.data("changes.list", session_id=other))["files"] == []
        assert await bob.data("changes.undo", session_id=other, all=True) == {"restored": [], "refused": []}
