"""A real `toolgate mcp`, seen by the SDK's own client or line by line."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from toolgate.adapters.mcp_server import Clients, build_server
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import builtin_registry
from toolgate.tools.builtin.ask_user import AskUserTool
from toolgate.workspace import Workspace

TOKEN = "a-long-random-word"
PATIENCE = 120.0
"""Seconds that a busy machine may need for anything."""
ERAS = ("legacy", "auto")
"""Clients that begin with `initialize`, and those of 2026-07-28 and later."""


def words(root: Path, *more: str, mode: str = "coding") -> list[str]:
    """The command line of a server."""
    return [sys.executable, "-m", "toolgate", "mcp", "--mode", mode, "--root", str(root), *more]


def small_project(tmp_path: Path) -> Path:
    """A new project with one file."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    return project


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing of the machine's user counts."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        **more,
    }


def stdio(root: Path, *more: str, mode: str = "coding", **env: str) -> StdioServerParameters:
    """A server that a client starts itself."""
    command = words(root, *more, mode=mode)
    home = root.parent / "home"
    return StdioServerParameters(command=command[0], args=command[1:], env=environment(home, **env))


def answering(action: str = "accept", *, remember: bool = False, seen: list[str] | None = None) -> Any:
    """An elicitation callback that always answers the same (accepting allows), and keeps the questions."""

    async def answer(_: Any, params: Any) -> types.ElicitResult:
        if seen is not None:
            seen.append(params.message)
        decision = "allow for this session" if remember else "allow once"
        content: dict[str, Any] | None = {"decision": decision} if action == "accept" else None
        return types.ElicitResult(action=action, content=content)  # type: ignore[arg-type]

    return answer


def client(root: Path, *more: str, era: str = "legacy", mode: str = "coding", **named: Any) -> Client:
    """The SDK's client on a server of its own."""
    return Client(stdio(root, *more, mode=mode), mode=era, **named)


def near(root: Path, *, era: str = "legacy", tools: Iterable[str] = (), **named: Any) -> Client:
    """The SDK's client on a server in this process: where it is not about the process."""
    everything = builtin_registry()
    everything.register(AskUserTool())
    registry = everything.filter(tools) if tools else everything
    return Client(build_server(Clients(registry, ToolMode.coding, Workspace(root))), mode=era, **named)


def text(result: Any) -> str:
    """What the model reads."""
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def code(result: Any) -> str | None:
    """The error code."""
    found = outcome(result).get("error_code")
    return None if found is None else str(found)


def outcome(result: Any) -> dict[str, Any]:
    """What programs are told about a result, whatever the version of the protocol."""
    found: dict[str, Any] = result.meta["toolgate/outcome"]
    return found


class Sleeper:
    """A command that sleeps, and can be told from every other process of the machine."""

    def __init__(self) -> None:
        self.seconds = f"9{uuid.uuid4().int % 10**8:08d}"
        self.command = f"echo begun; setsid sleep {self.seconds} & sleep {self.seconds}"

    def processes(self) -> list[int]:
        """Who sleeps now."""
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")[-2:-1] == [
                    self.seconds.encode()
                ]:
                    found.append(int(entry))
        return found

    async def begun(self, seconds: float = PATIENCE) -> None:
        """Wait until it sleeps."""
        await until(lambda: len(self.processes()) >= 2, seconds)

    async def gone(self) -> None:
        """Wait until nothing of it is left."""
        await until(lambda: not self.processes())


async def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.1)  # to look at every process of the machine is work


class Lines:
    """A client that writes lines as it likes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.others: list[dict[str, Any]] = []
        """What came and was no answer to what was waited for."""

    async def send(self, line: bytes | dict[str, Any]) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        data = line if isinstance(line, bytes) else json.dumps({"jsonrpc": "2.0", **line}).encode()
        self.process.stdin.write(data + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> dict[str, Any]:
        """Read one line."""
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
        assert line, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        return message

    async def answer(self, request_id: Any) -> dict[str, Any]:
        """Read until the answer to a request."""
        while True:
            message = await self.receive()
            if "method" not in message and message.get("id") == request_id:
                return message
            self.others.append(message)

    async def ask(self, request_id: Any, method: str, **params: Any) -> dict[str, Any]:
        """A request and its answer."""
        await self.send({"id": request_id, "method": method, "params": params})
        return await self.answer(request_id)

    async def call(self, request_id: Any, name: str, **arguments: Any) -> dict[str, Any]:
        """A call and its answer."""
        return await self.ask(request_id, "tools/call", name=name, arguments=arguments)

    async def begin(self, **capabilities: Any) -> dict[str, Any]:
        """The handshake."""
        answer = await self.ask(
            "init",
            "initialize",
            protocolVersion="2025-11-25",
            capabilities=capabilities,
            clientInfo={"name": "lines", "version": "1"},
        )
        await self.send({"method": "notifications/initialized"})
        return answer

    async def ended(self) -> int:
        """Wait for the end."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE)


@contextlib.asynccontextmanager
async def lines(root: Path, *more: str, mode: str = "coding", **env: str) -> AsyncIterator[Lines]:
    """A server and somebody who writes to it."""
    process = await asyncio.create_subprocess_exec(
        *words(root, *more, mode=mode),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(root.parent / "home", **env),
        limit=1 << 24,
    )
    try:
        yield Lines(process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()


class Server:
    """A running server."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, token: str) -> None:
        self.process = process
        self.url = url
        self.token = token

    async def rest_of_stderr(self) -> str:
        """What it wrote after the words at the start, up to its end."""
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()

    @contextlib.asynccontextmanager
    async def client(self, *, era: str = "legacy", session: str = "", **named: Any) -> AsyncIterator[Client]:
        """The SDK's client, with the token."""
        headers = {"authorization": f"Bearer {self.token}", **({"mcp-session-id": session} if session else {})}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=era, **named) as connected,
        ):
            yield connected


@contextlib.asynccontextmanager
async def serving_http(root: Path, *more: str, token: str | None = TOKEN) -> AsyncIterator[Server]:
    """A server over HTTP, for as long as the block lasts."""
    env = {"TOOLGATE_GATEWAY_TOKEN": token} if token else {}
    process = await asyncio.create_subprocess_exec(
        *words(root, "--http", "--port", "0", *more),
        stderr=asyncio.subprocess.PIPE,
        env=environment(root.parent / "home", **env),
    )
    assert process.stderr is not None
    try:
        line = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode()
        url = line.removeprefix("MCP server: ").strip()
        if token is None:
            token = (await process.stderr.readline()).decode().rpartition(" ")[2].strip()
        yield Server(process, url, token)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def is_alive(server: Lines) -> None:
    """Check that the server still answers a call."""
    answer = await server.call("alive", "read_file", path="a.txt")
    assert answer["result"]["isError"] is False
