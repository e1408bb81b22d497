"""What a client is told about the tools."""

from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import ERAS, client, code, near
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import agent_registry


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


@pytest.mark.parametrize(("mode", "era"), list(zip(ToolMode, ERAS, strict=True)))
async def test_what_is_listed_is_the_view_of_the_mode(root: Path, mode: ToolMode, era: str) -> None:
    async with client(root, era=era, mode=mode.value) as connected:
        listed = [tool.name for tool in (await connected.list_tools()).tools]
    assert listed == [
        tool.name for tool in agent_registry().list_tools(mode) if tool.name not in ("task", "skill", "load_tools")
    ]


async def test_every_tool_says_what_it_does_to_the_world(root: Path) -> None:
    async with near(root) as connected:
        tools = (await connected.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in tools}
    rows = {
        name: (hint.read_only_hint, hint.destructive_hint, hint.idempotent_hint, hint.open_world_hint)
        for name, hint in hints.items()
        if hint is not None
    }
    reading = (True, False, True, False)
    assert rows == {
        "read_file": reading,
        "ls": reading,
        "glob": reading,
        "grep": reading,
        "memory_search": reading,
        "current_time": (True, False, True, True),
        "ask_user": (True, False, True, True),
        "write_file": (False, True, False, False),
        "edit_file": (False, True, False, False),
        "apply_patch": (False, True, False, False),
        "edit_notebook": (False, True, False, False),
        "Bash": (False, True, False, True),
        "Terminal": (False, True, False, True),
        "memory_append": (False, False, False, False),
        "todo": (False, False, True, False),
        "task": (False, True, False, True),
    }


async def test_only_the_tools_that_are_named(root: Path) -> None:
    async with client(root, "--tools", "read_file, ls") as connected:
        listed = [tool.name for tool in (await connected.list_tools()).tools]
        hidden = await connected.call_tool("Bash", {"command": "true"})
    assert listed == ["read_file", "ls"]
    assert code(hidden) == "TOOL_NOT_FOUND"
