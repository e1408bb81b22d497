"""What outlives a server: notes and records."""

from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import answering, client, text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


async def test_notes_outlive_the_server(root: Path) -> None:
    async with client(root, mode="chat_safe") as connected:
        assert not (await connected.call_tool("memory_append", {"content": "the door is green"})).is_error
    async with client(root, mode="chat_safe") as connected:
        found = await connected.call_tool("memory_search", {"query": "door"})
    assert "the door is green" in text(found)


async def test_what_was_written_can_be_taken_back(root: Path) -> None:
    from toolgate.workspace import Workspace
    from toolgate.workspace.undo import undo

    async with client(root, elicitation_callback=answering()) as connected:
        await connected.call_tool("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"})
    assert (root / "a.txt").read_text() == "1\ntwo\n"
    workspace = Workspace(root)
    undo(workspace)
    workspace.close()
    assert (root / "a.txt").read_text() == "one\ntwo\n"


async def test_a_record_is_kept_where_it_is_wanted(root: Path) -> None:
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import SessionSettings

    async with client(root, "--record") as connected:
        await connected.call_tool("read_file", {"path": "a.txt"})
        await connected.call_tool("write_file", {"path": "b.txt", "content": ""})
    database = Database(f"sqlite:///{root.parent}/home/data/toolgate/toolgate.db")
    manager = SessionManager(database, SessionSettings(coding_enabled=True))
    [session] = await manager.list()
    calls = [
        (event.payload["tool_name"], event.kind, event.payload.get("status"))
        for event in await manager.events(session.id)
        if event.kind.startswith("call_")
    ]
    assert await manager.try_claim(session.id) is not None
    await database.close()
    assert calls == [
        ("read_file", "call_started", None),
        ("read_file", "call_finished", "success"),
        ("write_file", "call_finished", "error"),
    ]
