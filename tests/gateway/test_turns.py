"""Turns of this process, at the moment in which one ends and the next begins."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tests.gateway.kit import gateway, is_done, settings_for
from toolgate import ToolCall
from toolgate.agent.events import TextChunk, TurnFailed
from toolgate.errors import SessionBusy
from toolgate.gateway.live_text import LiveTextRelay
from toolgate.gateway.turns import LocalTurns
from toolgate.testing import ScriptedModel


class Stage:
    """A loop whose turns end when they are told to."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.begun: list[str] = []
        self.tap: Any = None
        self.in_the_log: list[str] = []
        """Sessions whose turn has not ended according to the log."""

    def handle_message(
        self,
        session_id: str,
        _content: str,
        *,
        request_id: str,
        rewind_to: int | None = None,
        images: Sequence[Any] = (),
    ) -> "Stage":
        self.begun.append(session_id)
        return self

    async def started(self) -> None:
        """It begins at once."""

    async def wait(self) -> None:
        await self.over.wait()

    async def running_sessions(self) -> list[str]:
        return self.in_the_log

    def turns(self, limit: int) -> LocalTurns:
        return LocalTurns(cast(Any, self), LiveTextRelay(), _track, limit, lambda _event: None, self.running_sessions)


@contextlib.contextmanager
def _track(_session_id: str) -> Iterator[Callable[[], int]]:
    yield lambda: 0


@pytest.mark.parametrize("following", ["same", "other"])
async def test_who_heard_the_end_of_a_turn_may_begin_the_next_at_once(following: str) -> None:
    stage = Stage()
    turns = stage.turns(limit=1)
    await turns.submit("same", "one", request_id="1")
    await asyncio.sleep(0)
    second = asyncio.create_task(turns.submit(following, "two", request_id="2"))
    await asyncio.sleep(0.05)
    assert stage.begun == ["same"]

    stage.over.set()
    await asyncio.wait_for(second, 60)

    assert stage.begun == ["same", following]


async def test_a_turn_that_runs_is_not_waited_for() -> None:
    stage = Stage()
    turns = stage.turns(limit=1)
    await turns.submit("a", "one", request_id="1")
    await asyncio.sleep(0)
    stage.in_the_log = ["a"]

    with pytest.raises(SessionBusy, match="1 turns are already running"):
        await asyncio.wait_for(turns.submit("b", "two", request_id="2"), 60)

    stage.over.set()
    assert await turns.drain(10) == 0


async def test_a_turn_that_outlives_its_task_may_still_say_its_last_words() -> None:
    stage = Stage()
    turns = stage.turns(limit=1)
    await turns.submit("a", "one", request_id="1")
    (running,) = (task for task in asyncio.all_tasks() if task.get_name() == "toolgate-local-turn")
    running.cancel()  # as at a forced shutdown
    await asyncio.wait({running})

    stage.tap(TextChunk(content="the last words"))
    stage.tap(TurnFailed(code="CANCELLED", message="The turn was cancelled."))

    assert await turns.drain(0) == 0


async def test_looking_after_abandoned_turns_makes_no_session_busy(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["Hello."] * 30)) as running, running.client() as client:
        session = await client.session()

        async def look() -> None:
            while True:
                await running.service.close_abandoned()

        looking = asyncio.create_task(look())
        for _ in range(30):
            await client.send("chat.send", session_id=session, content="Hello")
            ended = (await client.until(lambda frame: is_done(frame) or frame["type"] == "error"))[-1]
            assert is_done(ended), ended
        looking.cancel()
        await asyncio.wait([looking])
    assert looking.cancelled()


async def test_the_output_of_a_sub_agents_command_arrives_while_it_runs(tmp_path: Path) -> None:
    work = {"agent": "general", "prompt": "go", "description": "d"}
    task = ToolCall(id="t1", name="task", arguments=json.dumps(work))
    wait = "echo begun; until [ -e go.txt ]; do sleep 0.05; done"
    command = ToolCall(id="b1", name="Bash", arguments=json.dumps({"command": wait}))
    model = ScriptedModel([[task], [command], "Child done.", "Parent done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await client.data("session.subscribe", session_id=session, details=True)
        await client.send("chat.send", session_id=session, content="Delegate.")
        child = (await client.until(lambda frame: frame["type"] == "agent_started"))[-1]["data"]["session_id"]
        await client.data("session.subscribe", session_id=child, details=True)
        shown = (await client.until(lambda frame: frame["type"] == "tool_output"))[-1]
        assert (shown["session_id"], shown["data"]["call_id"], shown["data"]["text"]) == (child, "b1", "begun\n")
        (tmp_path / "root" / "go.txt").touch()
        await client.until(lambda frame: is_done(frame) and frame.get("session_id") == session)
