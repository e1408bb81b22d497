"""Servers at an address: the SDK's own in another process, and one that answers as it likes."""

import asyncio
import contextlib
import gzip
import json
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.adapters.mcp_client.kit import ALL, SERVERS, connected, until
from toolgate import ErrorCode
from toolgate.adapters.mcp_client import ServerConfig
from toolgate.adapters.mcp_client.connection import ServerConnection


def at(url: str, **more: Any) -> dict[str, Any]:
    gate = {"tools": ALL, **more}
    return {"type": "http", "url": url, "toolgate": gate}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def sdk_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, str(SERVERS / "plain.py"), "http", str(port)])
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


async def test_a_server_that_is_restarted_works_again_by_itself() -> None:
    port = free_port()
    with sdk_server(port) as process:
        async with connected(plain=at(f"http://127.0.0.1:{port}/mcp")) as live:
            first = await live.call("plain__add", a=1, b=2)
            process.kill()
            await asyncio.to_thread(process.wait)
            context = live.context()
            lost = [await live.call("plain__add", context, a=1, b=2) for _ in range(2)]
            await until(lambda: live.connection.resting > 0)
            refused = await live.call("plain__add", context, a=1, b=2)
            with sdk_server(port):
                await until(lambda: not live.connection.problem, seconds=40)
                back = await live.call("plain__add", context, a=2, b=2)

    assert first.response.data["structured"] == {"total": 3}
    assert {result.is_error for result in lost} == {True}
    assert refused.response.error is not None
    assert refused.response.error.code is ErrorCode.CIRCUIT_OPEN
    assert back.response.data["structured"] == {"total": 4}


Answer = Callable[[dict[str, Any], BaseHTTPRequestHandler], tuple[int, dict[str, str], bytes]]


@contextlib.contextmanager
def raw_server(answer: Answer) -> Iterator[tuple[str, list[tuple[str, dict[str, str], Any]]]]:
    """A server whose every answer to a POST is made by `answer`; and what it was sent."""
    heard: list[tuple[str, dict[str, str], Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            heard.append((self.path, dict(self.headers.items()), request))
            status, headers, body = answer(request, self)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


JSON = {"Content-Type": "application/json"}
CONTENT = {"content": [{"type": "text", "text": "done"}]}


def well(
    request: dict[str, Any], _handler: object = None, *, result: Any = CONTENT
) -> tuple[int, dict[str, str], bytes]:
    """The answer of a proper server that knows the handshake."""
    method = request["method"]
    if "id" not in request:
        return 202, {}, b""
    document: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    tool = {"name": "act", "description": "Acts.", "inputSchema": {"type": "object"}}
    info = {"name": "raw", "version": "1"}
    results: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
        "tools/list": {"tools": [tool]},
        "tools/call": result,
    }
    if method in results:
        document["result"] = results[method]
    else:
        document["error"] = {"code": -32601, "message": "Method not found"}
    return 200, JSON, json.dumps(document).encode()


async def test_headers_of_the_config_are_sent_and_the_tool_is_called() -> None:
    with raw_server(well) as (url, heard):
        server = at(url) | {"headers": {"Authorization": "Bearer abc"}}
        async with connected(raw=server) as live:
            result = await live.call("raw__act")

    assert not result.is_error
    assert {headers["Authorization"] for _, headers, _ in heard} == {"Bearer abc"}


async def test_a_refusal_of_the_server_is_told_to_the_operator() -> None:
    with raw_server(lambda *_: (401, {}, b"")) as (url, _):
        async with connected(raw=at(url)) as live:
            assert live.connection.problem == "its server answered 401 Unauthorized"


async def test_a_session_that_the_server_forgot_is_opened_anew() -> None:
    sessions: list[str] = []

    def answer(request: dict[str, Any], handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = well(request)
        if request["method"] == "initialize":
            sessions.append(f"session-{len(sessions)}")
            return status, {**headers, "mcp-session-id": sessions[-1]}, body
        if request["method"] == "tools/call" and handler.headers.get("mcp-session-id") == "session-0":
            return 404, {}, b""
        return status, headers, body

    with raw_server(answer) as (url, _):
        async with connected(raw=at(url)) as live:
            lost = await live.call("raw__act")
            await until(lambda: len(sessions) == 2 and not live.connection.problem)
            found = await live.call("raw__act")

    assert (lost.is_error, found.is_error) == (True, False)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (JSON, b'"' + b"x" * (9 << 20) + b'"'),
        ({**JSON, "Content-Encoding": "gzip"}, gzip.compress(b'"' + b"x" * (64 << 20) + b'"')),
    ],
    ids=["huge", "bomb"],
)
async def test_an_answer_that_is_too_large_is_not_taken_in(headers: dict[str, str], body: bytes) -> None:
    def answer(request: dict[str, Any], _: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return (200, headers, body) if request["method"] == "tools/call" else well(request)

    with raw_server(answer) as (url, _):
        async with connected(raw=at(url)) as live:
            tracemalloc.start()
            try:
                result = await live.call("raw__act")
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()

    assert result.is_error
    assert "x" * 100 not in result.output
    assert peak < 32 << 20


async def test_a_connection_that_breaks_is_answered_for_and_closing_does_not_hang() -> None:
    def answer(request: dict[str, Any], handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        if request["method"] == "tools/call":
            handler.connection.shutdown(socket.SHUT_RDWR)
        return well(request)

    for pause in (0.0, 0.005, 0.02, 0.1):
        with raw_server(answer) as (url, _):
            async with connected(raw=at(url)) as live:
                result = await live.call("raw__act")
                await asyncio.sleep(pause)
                began = time.monotonic()
        assert result.response.error is not None
        assert result.response.error.code is ErrorCode.INTERNAL_ERROR
        assert time.monotonic() - began < 10


async def test_a_cancellation_that_a_library_loses_does_not_keep_the_connection() -> None:
    class Deaf(ServerConnection):
        async def _session(self) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)

    connection = Deaf(ServerConfig(name="raw", command="x"), {}, lambda _link: None)
    connection.start()
    await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await connection.close()


async def test_another_origin_is_not_followed() -> None:
    with raw_server(well) as (elsewhere, heard), raw_server(lambda *_: (307, {"Location": elsewhere}, b"")) as (url, _):
        server = at(url) | {"headers": {"Authorization": "Bearer abc"}}
        async with connected(raw=server) as live:
            assert live.registry.names() == []

    assert heard == []


async def test_an_address_where_nobody_listens_is_said_so_at_once() -> None:
    async with connected(raw=at(f"http://127.0.0.1:{free_port()}/mcp")) as live:
        assert "connect" in live.connection.problem.lower()
