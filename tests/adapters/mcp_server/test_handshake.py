"""The first answers, which are given before the SDK is loaded."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.adapters.mcp_server.kit import environment, lines
from toolgate.adapters.mcp_server import Clients, build_server
from toolgate.adapters.mcp_server.clients import HANDSHAKE_VERSIONS
from toolgate.adapters.mcp_server.descriptors import LineReader, LineWriter
from toolgate.adapters.mcp_server.handshake import ACKNOWLEDGED, Handshake, shake_hands
from toolgate.adapters.mcp_server.transport import Incoming, Outgoing
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import builtin_registry
from toolgate.workspace import Workspace

INFO = {"name": "test", "version": "1"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def _initialize(version: str = "2025-11-25", **changed: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO, **changed}
    return {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params}


def _modern(method: str, request_id: str | int, **params: Any) -> dict[str, Any]:
    """A request of 2026-07-28, as Claude Code sends it."""
    key = "io.modelcontextprotocol/"
    meta = {f"{key}protocolVersion": "2026-07-28", f"{key}clientInfo": INFO, f"{key}clientCapabilities": {"roots": {}}}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {"_meta": meta, **params}}


LISTEN = _modern("subscriptions/listen", "listen:0", notifications={"toolsListChanged": True})


def _list(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params}


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    """The built-in tools on an empty project."""
    return Clients(builtin_registry(), ToolMode.coding, Workspace(tmp_path))


async def _early(clients: Clients, *messages: dict[str, Any] | bytes) -> tuple[Handshake, list[dict[str, Any]]]:
    """What is answered before the SDK is loaded."""
    (source, sink), (answers, stdout) = os.pipe(), os.pipe()
    for message in messages:
        os.write(sink, message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
    os.close(sink)
    with LineWriter(stdout) as writer, LineReader(source) as reader:
        done = await shake_hands(reader, writer, clients)
    os.close(stdout)
    with os.fdopen(answers) as file:
        found = [json.loads(line) for line in file]
    os.close(source)
    return done, found


async def _sdk(clients: Clients, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What the SDK answers to the same messages."""
    (source, sink), (answers, stdout) = os.pipe(), os.pipe()
    for message in messages:
        os.write(sink, json.dumps(message).encode() + b"\n")
    os.close(sink)
    server = build_server(clients)
    with LineWriter(stdout) as writer, LineReader(source) as reader:
        outgoing = Outgoing(writer)
        await server.run(Incoming(reader, outgoing), outgoing, server.create_initialization_options())
    os.close(stdout)
    with os.fdopen(answers) as file:
        found = [json.loads(line) for line in file]
    os.close(source)
    return found


def test_the_versions_are_those_of_the_sdk() -> None:
    assert HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2019-01-01"])
async def test_the_early_answers_are_those_of_the_sdk(clients: Clients, version: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    messages = [_initialize(version), ping, INITIALIZED, _list()]
    done, early = await _early(clients, *messages)
    assert done.answered == ["first", 7, 2]
    assert [json.loads(line) for line in done.lines] == messages
    assert early == await _sdk(clients, *messages)
    assert len(early) == 3


async def test_the_early_answers_to_a_newer_client_are_those_of_the_sdk(clients: Clients) -> None:
    messages = [
        _modern("server/discover", "probe"),
        LISTEN,
        _modern("server/discover", 1),
        _modern("tools/list", 2),
    ]
    done, early = await _early(clients, *messages)
    assert (done.answered, done.acknowledged) == (["probe", 1, 2], ["listen:0"])
    assert [json.loads(line) for line in done.lines] == messages
    ended = {"jsonrpc": "2.0", "id": "listen:0", "error": {"code": -32000, "message": "Connection closed"}}
    sdk = await _sdk(clients, *messages)
    assert [message for message in sdk if message != ended] == early
    assert len(early) == 4


async def test_a_newer_client_gets_no_answer_and_no_acknowledgement_twice(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    async with lines(tmp_path / "project") as server:
        for message in (_modern("server/discover", "probe"), LISTEN, _modern("tools/list", 2)):
            await server.send(message)
        assert (await server.answer(2))["result"]["tools"]
        await server.send(_modern("tools/call", 3, name="current_time", arguments={}))
        assert (await server.answer(3))["result"]["isError"] is False
        assert [message.get("id", message.get("method")) for message in server.others] == ["probe", ACKNOWLEDGED]


@pytest.mark.parametrize(
    "later",
    [
        _modern("subscriptions/listen", 2, notifications={"toolsListChanged": True, "promptsListChanged": True}),
        _modern("subscriptions/listen", 2, notifications=None),
        _modern("tools/list", 2, _meta={}),
        _list(),
        _initialize(),
    ],
    ids=str,
)
async def test_what_is_unusual_after_discovering_is_left_to_the_sdk(clients: Clients, later: dict[str, Any]) -> None:
    done, early = await _early(clients, _modern("server/discover", 1), later)
    assert (done.answered, done.acknowledged, len(early)) == ([1], [], 1)


@pytest.mark.parametrize(
    "first",
    [
        _list(),
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {**_initialize(), "id": None},
        {**_initialize(), "id": True},
        {**_initialize(), "jsonrpc": "1.0"},
        {**_initialize(), "params": []},
        {**_initialize(), "method": 3},
        {**_initialize(), "result": {}},
        _initialize(clientInfo={}),
        _initialize(clientInfo={"name": "x", "version": 1}),
        _initialize(capabilities=[]),
        _initialize(capabilities={"roots": 3}),
        _initialize(protocolVersion=20251125),
        _modern("server/discover", 1, _meta=None),
        _modern("server/discover", 1, _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        _modern("tools/list", 1),
        b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "initialize", "params": {}}\n',
        b"{\n",
        b"[]\n",
        b"\xff\xfe\n",
        {**_initialize(), "id": "\ud800"},
    ],
    ids=str,
)
async def test_an_unusual_first_message_is_left_to_the_sdk(clients: Clients, first: dict[str, Any] | bytes) -> None:
    done, early = await _early(clients, first, _list())
    assert (done, early) == (Handshake(), [])


async def test_a_client_that_only_says_hello_never_loads_the_sdk(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom toolgate.cli import main\ncode = main()\n"
        "sys.stderr.write(','.join(sorted({'mcp', 'mcp_types', 'anyio'} & set(sys.modules))))\nsys.exit(code)\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, "mcp", "--mode", "coding", "--root", str(tmp_path)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path / "home"),
    )
    out, err = await asyncio.wait_for(process.communicate(json.dumps(_initialize()).encode() + b"\n"), 50)
    assert json.loads(out)["result"]["serverInfo"]["name"] == "toolgate"
    assert (process.returncode, err.decode()) == (0, "")


async def test_calls_work_after_the_handshake_and_no_request_is_answered_twice(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    async with lines(tmp_path / "project") as server:
        await server.begin()
        assert (await server.ask("list", "tools/list"))["result"]["tools"]
        answers = [await server.call(number, "current_time") for number in range(3)]
        assert all(answer["result"]["isError"] is False for answer in answers)
        assert server.others == []
        assert (await server.ask("again", "tools/list"))["result"]["tools"]
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0


async def test_an_answer_that_was_given_is_dropped_once(tmp_path: Path) -> None:
    read, write = os.pipe()
    with LineWriter(write) as writer:
        outgoing = Outgoing(writer, ["first"])
        for _ in range(2):
            message = types.JSONRPCResponse(jsonrpc="2.0", id="first", result={})
            await outgoing.send(SessionMessage(message))
    os.close(write)
    with os.fdopen(read) as file:
        assert len(file.readlines()) == 1
