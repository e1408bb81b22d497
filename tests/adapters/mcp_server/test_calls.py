"""Calls of a client: the gates, side by side, one shell per client."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import answering, client, code, near, text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


async def test_a_tool_of_another_mode_is_denied_and_an_unknown_one_corrected(root: Path) -> None:
    async with client(root, mode="chat_safe") as connected:
        denied = await connected.call_tool("write_file", {"path": "x", "content": "x"})
        unknown = await connected.call_tool("writefile", {})
    assert (code(denied), code(unknown)) == ("MODE_DENIED", "TOOL_NOT_FOUND")
    assert json.loads(text(denied))["next_action"] == "Coding mode is not enabled here; continue without this tool."
    assert "CORRECTION" in text(unknown)
    assert "write_file" not in text(unknown)
    assert not (root / "x").exists()


async def test_wrong_arguments_are_named(root: Path) -> None:
    async with near(root) as connected:
        result = await connected.call_tool("read_file", {"path": 3, "colour": "red"})
    assert code(result) == "INVALID_PARAM"
    assert "path" in text(result)
    assert "colour" in text(result)


async def test_e04_arguments_above_a_mebibyte_are_refused_and_the_server_goes_on(root: Path) -> None:
    async with near(root, elicitation_callback=answering()) as connected:
        large = await connected.call_tool("write_file", {"path": "x", "content": "x" * (1 << 20)})
        after = await connected.call_tool("read_file", {"path": "a.txt"})
    assert code(large) == "INVALID_PARAM"
    assert not after.is_error
    assert not (root / "x").exists()


async def test_calls_run_side_by_side_and_none_is_crossed(root: Path) -> None:
    for number in range(20):
        (root / f"{number}.txt").write_text(f"this is {number}\n")
    async with client(root) as connected:
        calls = [connected.call_tool("read_file", {"path": f"{number}.txt"}) for number in range(20)]
        command = "until [ -e go ]; do sleep 0.05; done; echo slept"
        slow = asyncio.create_task(connected.call_tool("Bash", {"command": command}))
        results = await asyncio.gather(*calls)
        assert not slow.done()
        (root / "go").touch()
        assert "slept" in text(await slow)
    for number, result in enumerate(results):
        assert f"this is {number}" in text(result)


async def test_the_shell_of_a_client_keeps_its_state(root: Path) -> None:
    (root / "sub").mkdir()
    async with near(root) as connected:
        await connected.call_tool("Bash", {"command": "cd sub; export A=1"})
        result = await connected.call_tool("Bash", {"command": "pwd; echo $A"})
    assert text(result).split() == [str(root / "sub"), "1"]
