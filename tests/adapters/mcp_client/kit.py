"""Servers as programs, a registry that is connected to them, and calls."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolgate import ToolCall, ToolContext, ToolMode, ToolRegistry, ToolResult
from toolgate.adapters.mcp_client import ApprovedDefinitions, Servers, connect, parse_servers
from toolgate.adapters.mcp_client.connection import ServerConnection
from toolgate.protocol.ports import Approver
from toolgate.settings import Settings
from toolgate.testing import AutoApprover
from toolgate.workspace import Workspace

SERVERS = Path(__file__).parents[1] / "servers"
ALL = {"*": {"modes": ["coding"]}}


def plain(**more: Any) -> dict[str, Any]:
    """The well-behaved server, with all of its tools in coding."""
    return program("plain.py", "stdio", **more)


def nasty(*words: str, **more: Any) -> dict[str, Any]:
    """The one that misbehaves."""
    return program("nasty.py", *words, **more)


def program(script: str, *words: str, tools: Any = ALL, **more: Any) -> dict[str, Any]:
    gate = {"tools": tools, **more}
    return {"command": sys.executable, "args": [str(SERVERS / script), *words], "toolgate": gate}


@dataclass
class Connected:
    """A registry with the tools of some servers."""

    registry: ToolRegistry
    servers: Servers
    approver: AutoApprover = field(default_factory=AutoApprover)

    @property
    def connection(self) -> ServerConnection:
        return self.servers.connections[0]

    def context(self, approver: Approver | None = None, workspace: Workspace | None = None) -> ToolContext:
        return ToolContext(
            workspace=workspace,
            mode=ToolMode.coding,
            approver=approver or self.approver,
            settings=Settings.defaults(),
        )

    async def call(self, name: str, context: ToolContext | None = None, **arguments: Any) -> ToolResult:
        toolset = self.registry.toolset(ToolMode.coding, context or self.context())
        return await toolset.handle(ToolCall(id="1", name=name, arguments=json.dumps(arguments)))

    def visible(self, mode: ToolMode = ToolMode.coding) -> list[str]:
        return [tool.name for tool in self.registry.list_tools(mode)]

    def reasons(self) -> dict[str, str]:
        return {item.tool: item.reason for item in self.servers.listed(self.connection)}


@contextlib.asynccontextmanager
async def connected(
    *, approvals: Path | None = None, start_timeout: float = 40.0, **servers: dict[str, Any]
) -> AsyncIterator[Connected]:
    """A registry connected to these servers."""
    registry = ToolRegistry()
    found = parse_servers(json.dumps({"mcpServers": servers}), os.environ)
    book = ApprovedDefinitions(approvals)
    async with connect(registry, found, approvals=book, environ=os.environ, start_timeout=start_timeout) as live:
        yield Connected(registry, live)


async def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that has no event."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


def runs(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
