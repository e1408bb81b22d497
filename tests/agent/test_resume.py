"""A process that is killed in the middle of a turn: what is there afterwards, and what is never done twice."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import OPEN
from tests.kit import ProbeTool
from toolgate import ToolRegistry
from toolgate.agent import AgentLoop, TurnDone
from toolgate.sessions import Database, SessionManager
from toolgate.testing import ScriptedModel

VICTIM = """
import asyncio, os, signal, sys
from toolgate import ToolCall, ToolMode, ToolRegistry, tool
from toolgate.agent import AgentLoop
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings
from toolgate.testing import ScriptedModel

folder, where = sys.argv[1:]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def note(name):
    with open(f"{folder}/ran", "a") as file:
        file.write(name + "\\n")

@tool(modes=[ToolMode.chat_safe])
async def first() -> str:
    note("first")
    return "done"

@tool(modes=[ToolMode.chat_safe])
async def second() -> str:
    note("second")
    if where == "call":
        die()
    return "done"

async def in_the_model():
    if where == "model":
        die()

async def main():
    database = Database(f"sqlite:///{folder}/db")
    await database.migrate()
    sessions = SessionManager(database, SessionSettings())
    session = await sessions.create()
    with open(f"{folder}/id", "w") as file:
        file.write(session.id)
    registry = ToolRegistry()
    registry.register(first)
    registry.register(second)
    calls = [ToolCall(id="a", name="first", arguments="{}"), ToolCall(id="b", name="second", arguments="{}")]
    model = ScriptedModel([["Working.", *calls], [in_the_model, "end"]])
    async for event in AgentLoop(model, registry, sessions).handle_message(session.id, "Do both"):
        if type(event).__name__ == where:
            die()

asyncio.run(main())
"""


def kill_at(where: str, folder: Path) -> None:
    """Run a turn in another process that kills itself at one point of it."""
    done = subprocess.run([sys.executable, "-c", VICTIM, str(folder), where], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(
    ("where", "ran", "states"),
    [
        ("TextChunk", [], []),
        ("ToolCallInfo", None, None),
        ("call", ["first", "second"], ["finished", "unknown"]),
        ("model", ["first", "second"], ["finished", "finished"]),
    ],
)
async def test_after_a_kill_the_turn_is_interrupted_and_nothing_runs_twice(
    tmp_path: Path, where: str, ran: list[str] | None, states: list[str] | None
) -> None:
    kill_at(where, tmp_path)
    before = (tmp_path / "ran").read_text().split() if (tmp_path / "ran").exists() else []
    session_id = (tmp_path / "id").read_text()
    database = Database(f"sqlite:///{tmp_path}/db")
    sessions = SessionManager(database, OPEN)
    registry = ToolRegistry()
    again = [ProbeTool(name="first"), ProbeTool(name="second")]
    for tool in again:
        registry.register(tool)
    model = ScriptedModel(["I go on."])
    loop = AgentLoop(model, registry, sessions)
    events: list[Any] = [event async for event in loop.handle_message(session_id, "And?")]
    assert isinstance(events[-1], TurnDone)
    assert [turn.status for turn in await sessions.turns(session_id)] == ["interrupted", "done"]
    assert [tool.calls for tool in again] == [[], []]
    told = list(model.requests[0].messages)
    made = [call["id"] for message in told for call in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in told if message["role"] == "tool"] == made
    if ran is not None:
        assert before == ran
        assert [call.state for call in await sessions.calls(session_id)] == states
    if where == "call":
        assert "Nobody knows how far it got" in told[-2]["content"]
    await loop.aclose()
    await database.close()
