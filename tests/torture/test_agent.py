"""An agent that is killed at any moment: nothing acknowledged is lost, nothing is torn, nothing is done twice."""

import asyncio
import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.support.databases import rows
from tests.support.forks import Child, adopting
from tests.torture.agent_victim import OPEN, WHOLE, prepared, works
from toolgate.agent import AgentLoop, TurnDone
from toolgate.runtime.registry import ToolRegistry
from toolgate.sessions import Database, SessionManager
from toolgate.testing import ScriptedModel

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
KILLS = 60 * TORTURE
MAX_LINES = 28
"""Things that an agent says before it is killed: a turn of both sessions is some thirty."""

pytestmark = [pytest.mark.torture, pytest.mark.timeout(600 + 30 * TORTURE)]


async def test_an_agent_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    sessions = await prepared(tmp_path, 2)
    chance = random.Random(4)
    acknowledged: set[tuple[str, ...]] = set()
    with adopting() as end_orphans:
        for _ in range(KILLS):
            child = Child(lambda say: works(tmp_path, sessions, say))
            lines = [child.line() for _ in range(chance.randrange(MAX_LINES))]
            await asyncio.sleep(chance.uniform(0, 0.02))
            lines += child.kill()
            end_orphans()
            assert "" not in lines, "the agent ended by itself"
            acknowledged.update(tuple(line.split(" ")) for line in lines if line.count(" ") >= 2)
            _check_files(tmp_path, sessions)
    path = tmp_path / "toolgate.db"
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    for session in sessions:
        _check_log(path, session)
        _check_acknowledged(path, session, acknowledged)
        await _check_goes_on(path, session)
    _check_commands(path, tmp_path / "project" / sessions[0] / "lines.txt", sessions[0])
    kinds = Counter(line[1] for line in acknowledged)
    assert min(kinds[kind] for kind in ("said", "call", "result", "turn")) > KILLS // 20, kinds


def _check_files(folder: Path, sessions: list[str]) -> None:
    for session in sessions:
        assert (folder / "project" / session / "whole.txt").read_text() in WHOLE.values(), "a mixture"


def _check_log(path: Path, session: str) -> None:
    """Numbers without gaps; every message in both tables; every call proposed once and ended at most once."""
    log = rows(path, "SELECT seq, kind, payload FROM events WHERE session_id = ? ORDER BY seq", session)
    assert [seq for seq, _, _ in log] == list(range(1, len(log) + 1))
    assert rows(path, "SELECT next_seq FROM sessions WHERE id = ?", session) == [(len(log) + 1,)]
    said = [seq for seq, kind, _ in log if kind == "message"]
    assert [seq for (seq,) in rows(path, "SELECT seq FROM messages WHERE session_id = ? ORDER BY seq", session)] == said
    for kind in ("call_proposed", "call_started", "call_finished"):
        counted = Counter(json.loads(payload)["call_id"] for _, found, payload in log if found == kind)
        assert set(counted.values()) <= {1}, kind
    turns = Counter(json.loads(payload)["request_id"] for _, kind, payload in log if kind == "turn_started")
    assert set(turns.values()) == {1}


def _check_acknowledged(path: Path, session: str, acknowledged: set[tuple[str, ...]]) -> None:
    """Whatever a person has seen is there."""
    done = rows(path, "SELECT id FROM turns WHERE session_id = ? AND status = 'done'", session)
    stored = rows(path, "SELECT role, content, tool_calls, tool_call_id FROM messages WHERE session_id = ?", session)
    there = {
        "said": {content.split(" ")[-1] for role, content, _, _ in stored if role == "user"},
        "call": {call["id"] for _, _, calls, _ in stored if calls for call in json.loads(calls)},
        "result": {call_id for _, _, _, call_id in stored if call_id},
        "turn": {turn for (turn,) in done},
    }
    for seen, kind, *words in acknowledged:
        if seen == session:
            assert words[-1] in there[kind], (kind, words)


def _check_commands(path: Path, lines: Path, session: str) -> None:
    """A command that ended has left its line, one that never began has not, and none has left two."""
    ran = Counter(lines.read_text().split()) if lines.exists() else Counter()
    assert set(ran.values()) <= {1}
    commands = {}
    for (payload,) in rows(path, "SELECT payload FROM events WHERE session_id = ? AND kind = 'call_proposed'", session):
        call = json.loads(payload)
        if call["tool_name"] == "Bash":
            commands[call["call_id"]] = call["arguments"]["command"].split()[1]
    states = rows(path, "SELECT call_id, state, status, started_at FROM tool_calls WHERE session_id = ?", session)
    for call_id, state, status, started in states:
        if call_id in commands:
            left = ran[commands[call_id]]
            assert left == 1 or state != "finished" or status != "success", "a command that ended has left nothing"
            assert left == 0 or started is not None, "a command ran that nobody had started"
    assert ran


async def _check_goes_on(path: Path, session: str) -> None:
    """The next turn finds a valid conversation, and the one before it ended or interrupted."""
    database = Database(f"sqlite:///{path}")
    sessions = SessionManager(database, OPEN)
    model = ScriptedModel(["I go on."])
    loop = AgentLoop(model, ToolRegistry(), sessions)
    events = [event async for event in loop.handle_message(session, "And?")]
    assert isinstance(events[-1], TurnDone)
    assert {turn.status for turn in await sessions.turns(session)} <= {"done", "interrupted"}
    assert {call.state for call in await sessions.calls(session)} <= {"finished", "unknown"}
    waiting: list[str] = []
    for message in model.requests[0].messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert waiting == []
        waiting += [call["id"] for call in message.get("tool_calls", ())]
    assert waiting == []
    await loop.aclose()
    await database.close()


def test_control_a_call_that_ran_twice_would_be_seen(tmp_path: Path) -> None:
    """The checks of this module fail where they should."""
    lines = tmp_path / "lines.txt"
    lines.write_text("one\none\n")
    with pytest.raises(AssertionError):
        _check_commands(tmp_path / "none.db", lines, "s")
