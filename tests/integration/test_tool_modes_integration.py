"""Modes, from the database to the wire."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import gateway, settings_for
from toolgate import ToolCall, ToolMode
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings
from toolgate.testing import ScriptedModel

DENIED = ToolCall(id="call-7", name="read_file", arguments='{"path": "README.md"}')
FIELDS = {"tool_name", "call_id", "mode", "error_code", "message", "next_action"}


async def _turn(directory: Path, *calls: ToolCall) -> tuple[list[dict[str, Any]], str]:
    """The frames of a turn in chat_safe whose model makes these calls and then says something, and the session."""
    model = ScriptedModel([list(calls), "I cannot read files here."])
    async with gateway(settings_for(directory, coding=False), model=model) as running, running.client() as client:
        session_id = await client.session()
        return await client.turn(session_id), session_id


async def test_tool_denied_websocket_frame(tmp_path: Path) -> None:
    """A7: the denial reaches the client as a frame of its own with the six fields."""
    frames, _ = await _turn(tmp_path, DENIED)

    denied = [frame for frame in frames if frame["type"] == "tool_denied"]
    assert len(denied) == 1
    assert denied[0]["data"].keys() == FIELDS
    assert all(isinstance(value, str) and value for value in denied[0]["data"].values())
    given = {name: denied[0]["data"][name] for name in ("tool_name", "call_id", "mode", "error_code")}
    assert given == {
        "tool_name": "read_file",
        "call_id": "call-7",
        "mode": "chat_safe",
        "error_code": "MODE_DENIED",
    }


async def test_tool_denied_then_text_continues(tmp_path: Path) -> None:
    """A8: after the denial the model goes on, and the turn ends with exactly one last chunk."""
    frames, _ = await _turn(tmp_path, DENIED)

    kinds = [frame["type"] for frame in frames]
    chunks = [frame["data"] for frame in frames if frame["type"] == "stream_chunk"]
    assert kinds.index("tool_call") < kinds.index("tool_denied") < kinds.index("stream_chunk")
    assert "".join(chunk["content"] for chunk in chunks) == "I cannot read files here."
    assert [chunk["done"] for chunk in chunks].count(True) == 1
    assert chunks[-1]["done"] is True


@pytest.mark.parametrize(
    ("name", "arguments"), [("current_time", {}), ("memory_search", {"query": "anything"})], ids=["A1", "A2"]
)
async def test_chat_safe_allowed_tool_works(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    """A1, A2: what chat_safe allows runs."""
    frames, _ = await _turn(tmp_path, ToolCall(id="call-1", name=name, arguments=json.dumps(arguments)))

    kinds = [frame["type"] for frame in frames]
    results = [frame["data"] for frame in frames if frame["type"] == "tool_result"]
    assert "tool_denied" not in kinds
    assert [(result["tool_name"], result["status"]) for result in results] == [(name, "success")]


async def test_denial_persisted_to_transcript(tmp_path: Path) -> None:
    """C3: the denial is a message of the role tool in the database."""
    _, session_id = await _turn(tmp_path, DENIED)

    db = Database(f"sqlite:///{tmp_path}/gateway.db")
    messages = await SessionManager(db, SessionSettings()).messages(session_id)
    await db.close()
    answers = [message for message in messages if message.role == "tool"]
    assert [message.tool_call_id for message in answers] == ["call-7"]
    assert json.loads(answers[0].content)["error_code"] == "MODE_DENIED"


async def test_tool_denied_type_distinguishable(tmp_path: Path) -> None:
    """C4: a denial can be told from everything else by its type alone."""
    unknown = ToolCall(id="call-8", name="no_such_tool", arguments="{}")
    frames, _ = await _turn(tmp_path, DENIED, unknown)

    of_denied = {frame["type"] for frame in frames if frame["data"].get("call_id") == "call-7"}
    of_unknown = {frame["type"] for frame in frames if frame["data"].get("call_id") == "call-8"}
    assert of_denied == {"tool_call", "tool_denied"}
    assert of_unknown == {"tool_call", "tool_result"}
    assert [frame["type"] for frame in frames].count("tool_denied") == 1


async def test_get_mode_reads_from_db(tmp_path: Path) -> None:
    db = Database(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")
    await db.migrate()
    session = await SessionManager(db, SessionSettings()).create()
    await db.close()
    reopened = Database(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")
    mode = await SessionManager(reopened, SessionSettings()).get_mode(session.id)
    await reopened.close()

    assert (session.mode, mode) == (ToolMode.chat_safe, ToolMode.chat_safe)
