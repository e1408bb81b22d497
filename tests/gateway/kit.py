"""A gateway that really runs, on a free port of this machine, and a client that really connects to it."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx2
from pydantic import SecretStr, TypeAdapter
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect

from toolgate.gateway import create_app
from toolgate.gateway.server import GatewayServer
from toolgate.gateway.service import Service
from toolgate.models import ModelClient
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.detail_frames import DETAIL_FRAMES
from toolgate.protocol.frames import FRAMES
from toolgate.runtime.registry import ToolRegistry
from toolgate.settings import Settings

TOKEN = "token-of-the-gateway-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE = 60.0
"""Seconds that a test waits for what has to come."""

_FRAMES: dict[str, TypeAdapter[Any]] = {
    frame.model_fields["type"].annotation.__args__[0]: TypeAdapter(frame)  # type: ignore[union-attr]
    for frame in (*FRAMES, *DETAIL_FRAMES)
}


def web_client(**options: Any) -> httpx2.AsyncClient:
    """A client for plain requests. It waits as long as a busy machine needs."""
    return httpx2.AsyncClient(timeout=PATIENCE, **options)


def settings_for(directory: Path, *, coding: bool = True, database: str | None = None, **gateway: Any) -> Settings:
    """Settings of a gateway that keeps everything in a directory."""
    defaults = Settings.defaults()
    root = directory / "root"
    root.mkdir(exist_ok=True)
    if not {"token", "tokens", "token_file"} & gateway.keys():
        gateway["token"] = SecretStr(TOKEN)
    url = database or f"sqlite:///{directory}/gateway.db"
    return defaults.model_copy(
        update={
            "gateway": defaults.gateway.model_copy(update={"port": 0, **gateway}),
            "database": defaults.database.model_copy(update={"url": url}),
            "workspace": defaults.workspace.model_copy(update={"root": root}),
            "session": defaults.session.model_copy(update={"coding_enabled": coding}),
        }
    )


class Gateway:
    """One that runs."""

    def __init__(self, app: Starlette, port: int) -> None:
        self.app = app
        self.port = port
        self.address = f"127.0.0.1:{port}"

    @property
    def service(self) -> Service:
        service: Service = self.app.state.service
        return service

    @contextlib.asynccontextmanager
    async def client(self, token: str = TOKEN, **options: Any) -> AsyncIterator["Client"]:
        """A client that shows a token."""
        headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
        async with connect(
            f"ws://{self.address}/ws", additional_headers=headers, max_size=None, proxy=None, **options
        ) as socket:
            yield Client(socket)


class Client:
    """Speaks the protocol; every frame that it gets must fit its model."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.number = 0
        self.waiting: list[dict[str, Any]] = []

    async def raw(self, text: str | bytes) -> None:
        await self.socket.send(text)

    async def send(self, method: str, **params: Any) -> str:
        self.number += 1
        request_id = f"r{self.number}"
        await self.raw(json.dumps({"type": "request", "id": request_id, "method": method, "params": params}))
        return request_id

    async def receive(self) -> dict[str, Any]:
        if self.waiting:
            return self.waiting.pop(0)
        async with asyncio.timeout(PATIENCE):
            frame: dict[str, Any] = json.loads(await self.socket.recv())
        check(frame)
        return frame

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The frame that answers; what comes before it is kept for later."""
        request_id = await self.send(method, **params)
        passed: list[dict[str, Any]] = []
        while True:
            frame = await self.receive()
            if frame["id"] == request_id and frame["type"] in ("response", "error"):
                self.waiting = passed + self.waiting
                return frame
            passed.append(frame)

    async def data(self, method: str, **params: Any) -> dict[str, Any]:
        frame = await self.ask(method, **params)
        assert frame["type"] == "response", frame
        data: dict[str, Any] = frame["data"]
        return data

    async def session(self, mode: str | None = None) -> str:
        session_id: str = (await self.data("session.create", **({} if mode is None else {"mode": mode})))["session_id"]
        return session_id

    async def until(self, found: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """All frames up to the first that is meant."""
        frames = [await self.receive()]
        while not found(frames[-1]):
            frames.append(await self.receive())
        return frames

    async def turn(self, session_id: str, content: str = "Hello") -> list[dict[str, Any]]:
        """Take a turn and return its frames."""
        await self.send("chat.send", session_id=session_id, content=content)
        frames = await self.until(lambda frame: is_done(frame) or _is_refusal(frame))
        assert is_done(frames[-1]), f"no turn began: {frames[-1]}"
        return frames

    async def silent(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for a while."""
        try:
            async with asyncio.timeout(seconds):
                self.waiting.append(json.loads(await self.socket.recv()))
        except TimeoutError:
            return True
        return False


def is_done(frame: dict[str, Any]) -> bool:
    return bool(frame["type"] == "stream_chunk" and frame["data"]["done"])


def _is_refusal(frame: dict[str, Any]) -> bool:
    return frame["type"] == "error" and frame["data"]["code"] in ("SESSION_BUSY", "INVALID_PARAMS", "MODE_NOT_ENABLED")


def is_type(*kinds: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: frame["type"] in kinds


def check(frame: dict[str, Any]) -> None:
    """A frame is exactly what its model says, and has nothing beside it."""
    _FRAMES[frame["type"]].validate_python(frame)
    plain = {"type", "id", "data"} | ({"seq"} if "seq" in frame else set())
    tags = {"session_id", "turn_id"} | ({"at"} if "seq" in frame else set())
    assert set(frame) in (plain, plain | tags), frame


def types(frames: Iterable[dict[str, Any]]) -> list[str]:
    return [frame["type"] for frame in frames]


def text_of(frames: Iterable[dict[str, Any]]) -> str:
    return "".join(frame["data"]["content"] for frame in frames if frame["type"] == "stream_chunk")


def call(name: str, arguments: str = "{}", call_id: str = "c1") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


@contextlib.asynccontextmanager
async def gateway(
    settings: Settings,
    model: ModelClient | None = None,
    registry: ToolRegistry | None = None,
    *,
    kernel_buffers: bool = True,
) -> AsyncIterator[Gateway]:
    """A gateway for as long as the block lasts. Without kernel buffers, a client that does not read is felt at once."""
    app = create_app(settings, model=model, registry=registry)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    if not kernel_buffers:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    server = GatewayServer(app)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started:
            assert not serving.done(), "the gateway did not start"
            await asyncio.sleep(0.01)
        yield Gateway(app, listening.getsockname()[1])
    finally:
        server.should_exit = True
        async with asyncio.timeout(PATIENCE):
            await serving


@contextlib.contextmanager
def serving(
    directory: Path, *words: str, name: str = "serve", **environ: str
) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """`toolgate serve` in a process of its own: the process, its port, and the address that it printed."""
    (directory / "root").mkdir(exist_ok=True)
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "XDG_CONFIG_HOME": "/nonexistent",
        "TOOLGATE_DATABASE_URL": f"sqlite:///{directory}/serve.db",
        "TOOLGATE_WORKSPACE_ROOT": str(directory / "root"),
        **environ,
    }
    command = [sys.executable, "-m", "toolgate", "serve", "--port", "0", "--no-open", *words]
    log = (directory / f"{name}.log").open("w")
    process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http" in line, (directory / f"{name}.log").read_text()
        address = line.split()[-1]
        yield process, int(address.split(":")[2].split("/")[0]), address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        log.close()
        if process.stdout is not None:
            process.stdout.close()
