"""Servers for attacks: a gateway and an MCP server of the installed package, and an MCP server that misbehaves."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from redteam.attack import NotApplicable
from toolgate.settings import Settings

if TYPE_CHECKING:
    from redteam.arena import Arena

PATIENCE = 20.0
"""Seconds that an attack waits for what has to come."""
ALICE, BOB = "token-of-alice-0123456789", "token-of-bob-0123456789"


class Gateway:
    """A gateway that runs in this process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"127.0.0.1:{port}"

    async def request(
        self, path: str, headers: Mapping[str, str] = {}, *, method: str = "GET", body: str = ""
    ) -> tuple[int, str]:
        """The status and the body of an answer to exactly these headers."""
        given = {"Host": self.address, "Connection": "close", **headers}
        if body:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read(1 << 20)
        writer.close()
        head, _, rest = answer.decode("latin-1").partition("\r\n\r\n")
        return int(head.split(" ", 2)[1]) if head else 0, rest

    async def upgrade(self, token: str | None, **headers: str) -> int:
        """The status of a WebSocket handshake."""
        key = base64.b64encode(os.urandom(16)).decode()
        given = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        given |= {"Sec-WebSocket-Key": key, **({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        lines = ["GET /ws HTTP/1.1", *(f"{name}: {value}" for name, value in {"Host": self.address, **given}.items())]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        async with asyncio.timeout(PATIENCE):
            answer = await reader.readuntil(b"\r\n")
        writer.close()
        return int(answer.split(b" ", 2)[1])

    async def page_key(self, token: str) -> str:
        """The key that the page gets for a token."""
        headers = {"Origin": f"http://{self.address}"}
        status, text = await self.request("/auth", headers, method="POST", body=json.dumps({"token": token}))
        assert status == 200, text
        key: str = json.loads(text)["key"]
        return key

    @contextlib.asynccontextmanager
    async def client(self, token: str) -> AsyncIterator[Client]:
        """A client that shows a token."""
        from websockets.asyncio.client import connect

        headers = {"Authorization": f"Bearer {token}"}
        address = f"ws://{self.address}/ws"
        async with connect(address, additional_headers=headers, max_size=None, proxy=None) as connection:
            yield Client(connection)


class Client:
    """Speaks the gateway's protocol."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._number = 0

    async def send(self, method: str, **params: Any) -> str:
        """Send a request; its id."""
        self._number += 1
        name = f"r{self._number}"
        await self.connection.send(json.dumps({"type": "request", "id": name, "method": method, "params": params}))
        return name

    async def until(self, found: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """The frames up to the first that is meant."""
        frames: list[dict[str, Any]] = []
        async with asyncio.timeout(PATIENCE):
            while not frames or not found(frames[-1]):
                frames.append(json.loads(await self.connection.recv()))
        return frames

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The frame that answers a request."""
        name = await self.send(method, **params)
        answers = ("response", "error")
        return (await self.until(lambda frame: frame["id"] == name and frame["type"] in answers))[-1]

    async def session(self, mode: str = "coding") -> str:
        """A new session."""
        name: str = (await self.ask("session.create", mode=mode))["data"]["session_id"]
        return name

    async def turn(self, session: str, content: str = "Go on.", **params: Any) -> list[dict[str, Any]]:
        """The frames of a turn, or of its refusal."""
        await self.send("chat.send", session_id=session, content=content, **params)
        return await self.until(lambda frame: is_end(frame) or frame["type"] == "error")


def is_end(frame: dict[str, Any]) -> bool:
    """Whether a turn ends with this frame."""
    return bool(frame["type"] == "stream_chunk" and frame["data"]["done"])


@contextlib.asynccontextmanager
async def gateway(arena: Arena, model: Any, *, tokens: str = f"alice:{ALICE},bob:{BOB}") -> AsyncIterator[Gateway]:
    """A gateway on the arena's project, with its database beside it."""
    from pydantic import SecretStr

    from toolgate.gateway import create_app
    from toolgate.gateway.server import GatewayServer

    defaults = Settings.defaults()
    sandbox = "off" if arena.layer == "off" else "auto"
    update = {
        "gateway": defaults.gateway.model_copy(update={"port": 0, "tokens": SecretStr(tokens)}),
        "database": defaults.database.model_copy(update={"url": f"sqlite:///{arena.base}/gateway.db"}),
        "workspace": defaults.workspace.model_copy(update={"root": arena.root}),
        "session": defaults.session.model_copy(update={"coding_enabled": True}),
        "shell": defaults.shell.model_copy(update={"sandbox": sandbox}),
    }
    app = create_app(defaults.model_copy(update=update), model=model)
    listener = socket.create_server(("127.0.0.1", 0))
    server = GatewayServer(app)
    async with _serving(server, listener) as port:
        yield Gateway(port)


@contextlib.asynccontextmanager
async def mcp_server(arena: Arena) -> AsyncIterator[str]:
    """The address of an MCP server on the arena's project; its token is Alice's."""
    import uvicorn

    import toolgate
    from toolgate.adapters.mcp_server import Desk, http_app

    workspace = toolgate.Workspace(arena.root)
    desk = Desk(toolgate.builtin_registry(), toolgate.ToolMode.coding, workspace)
    listener = socket.create_server(("127.0.0.1", 0))
    app = http_app(desk, token=ALICE, port=listener.getsockname()[1])
    config = uvicorn.Config(app, lifespan="on", log_level="error", access_log=False, ws="none")
    try:
        async with _serving(uvicorn.Server(config), listener) as port:
            yield f"http://127.0.0.1:{port}/mcp"
    finally:
        workspace.close()


@contextlib.asynccontextmanager
async def _serving(server: Any, listener: socket.socket) -> AsyncIterator[int]:
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(PATIENCE):
            while not server.started:
                if task.done():
                    raise NotApplicable(f"the server does not start here: {task.exception()}")
                await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.wait([task], timeout=PATIENCE)


Answer = Callable[[str], Any]
"""What a server that misbehaves answers to `tools/list` and `tools/call`; `bytes` are written for ever."""


@contextlib.contextmanager
def hostile_mcp_server(answer: Answer) -> Iterator[str]:
    """The address of an MCP server in a thread of this process."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if "id" not in request:
                self._answer(202, b"")
                return
            info = {"name": "hostile", "version": "1"}
            result = answer(request["method"])
            if request["method"] == "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            if isinstance(result, bytes):
                self._write_for_ever(result)
            else:
                body = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
                self._answer(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}).encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _write_for_ever(self, piece: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(OSError):
                while not ended.wait(0.001):
                    self.wfile.write(piece)

        def do_GET(self) -> None:
            self._answer(405, b"")

        def do_DELETE(self) -> None:
            self._answer(405, b"")

        def log_message(self, *_: object) -> None:
            return

    ended = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
