"""The MCP Inspector's command line lists and calls tools, over stdio and over HTTP."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp_server.kit import environment, small_project, words
from tests.adapters.outside.conftest import Program, npm_environment

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]
TOKEN = "of-the-inspector"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    return small_project(tmp_path)


@pytest.fixture
async def inspector(program: Program) -> Path:
    """The program."""
    return await asyncio.to_thread(program, "inspector")


async def _inspect(inspector: Path, home: Path, *arguments: str) -> tuple[int | None, Any, str]:
    """Exit code, what it prints, and what it complains about."""
    home.mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(str(inspector), "--cli", *arguments),
        env={**npm_environment(), **environment(home), "PATH": npm_environment()["PATH"]},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode, json.loads(out) if out.strip() else None, err.decode()


async def test_over_stdio_it_lists_and_calls_and_finds_no_fault_in_the_schemas(inspector: Path, root: Path) -> None:
    home, server = root.parent / "home", words(root)
    code, listed, complaints = await _inspect(inspector, home, *server, "--method", "tools/list", "--strict")
    assert code == 0
    assert {"read_file", "write_file", "Bash"} <= {tool["name"] for tool in listed["tools"]}
    assert "Warning" not in complaints
    assert "Error" not in complaints
    call = ("--method", "tools/call", "--tool-name")
    code, read, _ = await _inspect(inspector, home, *server, *call, "read_file", "--tool-arg", "path=a.txt")
    assert (code, read["isError"]) == (0, False)
    assert read["content"][0]["text"].endswith("     1\tone")
    code, denied, _ = await _inspect(inspector, home, *server, *call, "Bash", "--tool-arg", "command=rm a.txt")
    assert (code, denied["isError"]) == (5, True)
    assert 'words = ["rm", "a.txt"]' in denied["content"][0]["text"]
    assert (root / "a.txt").exists()


async def test_over_http_it_lists_and_calls_with_the_token_only(inspector: Path, root: Path) -> None:
    home = root.parent / "home"
    server = await asyncio.create_subprocess_exec(
        *words(root, "--http", "--port", "0"),
        stderr=asyncio.subprocess.PIPE,
        env=environment(home, TOOLGATE_GATEWAY_TOKEN=TOKEN),
    )
    try:
        assert server.stderr is not None
        line = await asyncio.wait_for(server.stderr.readline(), 60)
        target = (line.decode().removeprefix("MCP server: ").strip(), "--transport", "http")
        shown = ("--header", f"Authorization: Bearer {TOKEN}")
        code, listed, _ = await _inspect(inspector, home, *target, *shown, "--method", "tools/list")
        assert code == 0
        assert "Bash" in {tool["name"] for tool in listed["tools"]}
        call = ("--method", "tools/call", "--tool-name", "Bash", "--tool-arg", "command=cat a.txt")
        code, result, _ = await _inspect(inspector, home, *target, *shown, *call)
        assert (code, result["content"][0]["text"]) == (0, "one\n")
        code, nothing, complaints = await _inspect(inspector, home, *target, "--stored-auth-only", *call)
        assert code != 0
        assert nothing is None
        assert "auth" in complaints.lower()
    finally:
        server.terminate()
        assert await asyncio.wait_for(server.wait(), 30) == 0
