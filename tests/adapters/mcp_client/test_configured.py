"""The agent uses the tools of configured servers; and no server outlives the process that started it."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.adapters.mcp_client.kit import SERVERS, connected, runs, until
from toolgate import ToolCall, ToolMode
from toolgate.agent import ToolResultInfo
from toolgate.compose import assemble
from toolgate.settings import Settings
from toolgate.testing import AutoApprover, ScriptedModel


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with one server, in a project."""
    file = tmp_path / "config" / "toolgate" / "mcp.json"
    file.parent.mkdir(parents=True)
    arguments = [str(SERVERS / "nasty.py"), "good"]
    options = {"tools": {"act": {"modes": ["chat_safe"]}}}
    server = {"command": sys.executable, "args": arguments, "toolgate": options}
    file.write_text(json.dumps({"mcpServers": {"raw": server}}))
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TOOLGATE_WORKSPACE_ROOT", str(tmp_path / "project"))
    return file


@pytest.mark.usefixtures("config")
async def test_the_agent_calls_a_foreign_tool() -> None:
    call = ToolCall(id="1", name="raw__act", arguments='{"text": "hello"}')
    model = ScriptedModel([[call], "done"])
    approver = AutoApprover()

    async with assemble(Settings(), model=model, approver=approver) as stack:
        session = await stack.sessions.create()
        events = [event async for event in stack.loop.handle_message(session.id, "go")]

    (result,) = [event.result for event in events if isinstance(event, ToolResultInfo)]
    assert "hello" in result.output
    assert "raw__act" in [tool["function"]["name"] for tool in model.requests[0].tools]
    assert [request.tool_name for request in approver.requests] == ["raw__act"]


async def test_a_project_names_no_servers(config: Path, tmp_path: Path) -> None:
    """A file that came with a project starts nothing."""
    text = config.read_text()
    config.unlink()
    for name in (".mcp.json", "mcp.json"):
        (tmp_path / "project" / name).write_text(text)

    async with assemble(Settings(), model=ScriptedModel(["x"])) as stack:
        assert [tool.name for tool in stack.registry.list_tools(ToolMode.chat_safe) if "__" in tool.name] == []


async def test_toolgates_own_server_can_be_a_server_of_its(tmp_path: Path) -> None:
    """What needs a person there is denied there: this client offers a server nobody to ask."""
    (tmp_path / "a.txt").write_text("one TODO\n")
    arguments = ["-m", "toolgate", "mcp", "--mode", "coding", "--root", str(tmp_path)]
    tools = {"grep": {"modes": ["coding"], "read_only": True}, "write_file": {"modes": ["coding"]}}
    server = {"command": sys.executable, "args": arguments, "toolgate": {"tools": tools}}

    async with connected(own=server) as live:
        found = await live.call("own__grep", pattern="TODO")
        denied = await live.call("own__write_file", path="b.txt", content="x")

    assert "a.txt:1:one TODO" in found.output
    assert denied.is_error
    assert "This call was not approved" in denied.output
    assert not (tmp_path / "b.txt").exists()


HOST = """
import asyncio, json, os, sys
from toolgate import ToolRegistry
from toolgate.adapters.mcp_client import connect, parse_servers

async def main():
    async with connect(ToolRegistry(), parse_servers(sys.argv[1], os.environ), environ=os.environ):
        print("up", flush=True)
        await asyncio.sleep(1000)

asyncio.run(main())
"""


async def test_a_host_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    server = {"command": sys.executable, "args": [str(SERVERS / "nasty.py"), "tree", str(pids)]}
    config = json.dumps({"mcpServers": {"raw": server}})
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, config, stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    assert host.stdout is not None
    assert await host.stdout.readline() == b"up\n"
    await until(lambda: pids.exists() and pids.read_text().count("\n") == 2)  # a busy machine may be "up" before
    children = [int(line) for line in pids.read_text().split()]
    assert [runs(pid) for pid in children] == [True, True]

    host.send_signal(signal.SIGKILL)
    await host.wait()

    await until(lambda: not any(map(runs, children)))
