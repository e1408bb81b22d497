"""Going back in a session: what the model reads, what the session has seen, and the files."""

import json
from pathlib import Path

from toolgate import ToolCall
from toolgate.agent import AgentLoop
from toolgate.agent.rewind import rewind_with_files
from toolgate.runtime.builtin import builtin_registry
from toolgate.sessions import InMemorySessions
from toolgate.settings import SessionSettings
from toolgate.testing import AutoApprover, ScriptedModel
from toolgate.workspace import Workspace


def write(path: str, content: str, number: str) -> ToolCall:
    return ToolCall(id=number, name="write_file", arguments=json.dumps({"path": path, "content": content}))


async def test_after_a_rewind_the_model_and_the_gates_know_nothing_of_what_was_removed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("first\n")
    read = ToolCall(id="r", name="read_file", arguments='{"path": "notes.txt"}')
    model = ScriptedModel(["Hello.", [read], "Read it.", [write("notes.txt", "second\n", "w")], "Written."])
    sessions = InMemorySessions(SessionSettings(coding_enabled=True))
    workspace, approver = Workspace(tmp_path), AutoApprover()
    loop = AgentLoop(model, builtin_registry(), sessions, workspace=workspace, approver=approver)
    session = await sessions.create("coding")
    for text in ("hi", "read my notes"):
        _ = [event async for event in loop.handle_message(session.id, text)]
    seq, _ = await sessions.last_user_message(session.id)

    _ = [event async for event in loop.handle_message(session.id, "write", rewind_to=seq)]

    said = [message["content"] for message in model.requests[-2].messages if message["role"] != "system"]
    assert said == ["hi", "Hello.", "write"]
    assert [request.reason for request in approver.requests] == ["overwrites a file that this session has not read"]
    files = await rewind_with_files(sessions, workspace, session.id, (await sessions.last_user_message(session.id))[0])
    assert files.restored == ["notes.txt"]
    assert (tmp_path / "notes.txt").read_text() == "first\n"
    await loop.aclose()
    await sessions.close()
    workspace.close()
