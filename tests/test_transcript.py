"""`toolgate.testing.Transcript`: record, save, replay, compare."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import toolgate
from toolgate import ToolCall, Workspace, builtin_registry
from toolgate.agent import AgentLoop
from toolgate.sessions import InMemorySessions
from toolgate.testing import AutoApprover, RecordedCall, ScriptedModel, Transcript


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    (place / "a.txt").write_text("one TODO\ntwo\n")
    return place


async def recorded(root: Path) -> Transcript:
    transcript = Transcript()
    async with toolgate.open(root, "coding") as toolset:
        through = transcript.recording(toolset)
        await through.call("grep", pattern="TODO")
        await through.call("read_file", path="missing.txt")
        await through.handle(ToolCall(id="x", name="ls", arguments=""))
    return transcript


async def test_what_is_recorded_is_saved_and_replays_without_a_difference(root: Path, tmp_path: Path) -> None:
    transcript = await recorded(root)
    assert [(call.name, call.status, call.error_code) for call in transcript.calls] == [
        ("grep", "success", None),
        ("read_file", "error", "NOT_FOUND"),
        ("ls", "success", None),
    ]
    transcript.save(tmp_path / "calls.json")
    loaded = Transcript.load(tmp_path / "calls.json")
    assert loaded.calls == transcript.calls
    async with toolgate.open(root, "coding") as toolset:
        assert await loaded.replay(toolset, compare=("status", "error_code", "output", "data")) == []


async def test_what_differs_is_listed_with_the_number_of_the_call(root: Path) -> None:
    transcript = await recorded(root)
    (root / "a.txt").write_text("nothing left\n")
    (root / "missing.txt").write_text("here\n")
    async with toolgate.open(root, "coding") as toolset:
        found = await transcript.replay(toolset, compare=("status", "error_code"))
        outputs = await transcript.replay(toolset, compare=("output",), normalise=lambda text: "the same")
    assert [(one.number, one.name, one.field, one.recorded, one.replayed) for one in found] == [
        (2, "read_file", "status", "error", "success"),
        (2, "read_file", "error_code", "NOT_FOUND", None),
    ]
    assert str(found[0]) == "call 2 (read_file): status was 'error', is 'success'"
    assert outputs == []


async def test_a_call_that_runs_is_not_part_of_it_yet(root: Path) -> None:
    transcript = Transcript()
    async with toolgate.open(root, "coding") as toolset:
        pending = transcript.recording(toolset).call("Bash", command="sleep 30")
        await asyncio.sleep(0)
        assert list(transcript.calls) == []
        with pytest.raises(asyncio.InvalidStateError):
            pending.result()
        pending.cancel()
        assert await pending is pending.result()
    assert [call.error_code for call in transcript.calls] == ["CANCELLED"]


async def test_the_calls_of_an_agents_turn(root: Path) -> None:
    model = ScriptedModel([[ToolCall(id="c", name="current_time", arguments='{"timezone": "UTC"}')], "done"])
    with Workspace(root) as workspace:
        async with (
            InMemorySessions() as sessions,
            AgentLoop(model, builtin_registry(), sessions, workspace=workspace, approver=AutoApprover()) as loop,
        ):
            session = await sessions.create()
            events = [event async for event in loop.handle_message(session.id, "what time is it?")]
    (call,) = Transcript.of_events(events).calls
    assert (call.name, json.loads(call.arguments), call.status) == ("current_time", {"timezone": "UTC"}, "success")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"transcript": 2, "calls": []}', '{"transcript": 1, "calls": [{}]}'])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"x\.json: cannot be used: .*Record it again\."):
        Transcript.load(tmp_path / "x.json")


async def test_a_field_that_cannot_be_compared_is_refused(root: Path) -> None:
    wrong: Any = ("outputs",)
    async with toolgate.open(root) as toolset:
        with pytest.raises(ValueError, match="compare takes status, error_code, output, data"):
            await Transcript([RecordedCall(name="ls", arguments="", status="success", output="", data={})]).replay(
                toolset, compare=wrong
            )
