"""Gateways as real processes, and a client of them."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.distributed.cluster import PATIENCE, Cluster, Process, until

TOKEN = "a-token-for-tests"


def gateway(machines: Cluster, **environment: str) -> Process:
    """Start a gateway that hands turns out."""
    return _serve(machines, "toolgate", "gateway", environment)


def both(machines: Cluster, **environment: str) -> Process:
    """Start a process that is gateway and worker, with the model and the tools of the tests."""
    return _serve(machines, "tests.distributed.serving", "both", environment)


def _serve(machines: Cluster, module: str, role: str, environment: dict[str, str]) -> Process:
    return machines.start(
        ["-m", module, "serve", "--port", "0", "--no-open", "--root", str(machines.workspace())],
        role,
        **{
            "TOOLGATE_GATEWAY_TOKEN": TOKEN,
            "TOOLGATE_DISTRIBUTED_ROLE": role,
            "TOOLGATE_DISTRIBUTED_WORKSPACE": "main",
            **environment,
        },
    )


async def port_of(machines: Cluster, process: Process, patience: float = PATIENCE) -> int:
    """Where a gateway listens, once it does."""

    def said() -> bool:
        assert process.popen.poll() is None, process.output
        return re.search(r"http://[^:]+:(\d+)/", process.output) is not None

    await until(said, what="a gateway", logs=machines.logs, patience=patience)
    found = re.search(r"http://[^:]+:(\d+)/", process.output)
    assert found is not None
    port = int(found.group(1))

    async def answers() -> bool:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET /health/ready HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            ready = b" 200 " in await reader.readline()
            writer.close()
            return ready
        return False

    await until(answers, what="a gateway that is ready", logs=machines.logs, patience=patience)
    return port


class Client:
    """Sends requests and keeps every frame that comes."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.frames: list[dict[str, Any]] = []
        self._number = 0
        self.reading: asyncio.Task[None] | None = None
        """Ends when the gateway does."""

    async def send(self, method: str, **params: Any) -> str:
        self._number += 1
        request = f"r{self._number}"
        await self._socket.send(json.dumps({"type": "request", "id": request, "method": method, "params": params}))
        return request

    async def answer(self, request: str) -> dict[str, Any]:
        def come() -> bool:
            return any(f["id"] == request and f["type"] in ("response", "error") for f in self.frames)

        await until(come, what=f"the answer to {request}")
        return next(f for f in self.frames if f["id"] == request and f["type"] in ("response", "error"))

    async def read(self) -> None:
        with contextlib.suppress(Exception):
            async for text in self._socket:
                self.frames.append(json.loads(text))

    @property
    def durable(self) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if "seq" in frame]

    @property
    def text(self) -> str:
        return "".join(f["data"]["content"] for f in self.frames if f["type"] == "stream_chunk")

    @property
    def ends(self) -> int:
        return sum(f["type"] == "stream_chunk" and f["data"]["done"] for f in self.frames)


@contextlib.asynccontextmanager
async def client(port: int, token: str = TOKEN) -> AsyncIterator[Client]:
    """A client of the gateway on this port."""
    async with connect(
        f"ws://127.0.0.1:{port}/ws", additional_headers={"Authorization": f"Bearer {token}"}, proxy=None
    ) as socket:
        made = Client(socket)
        made.reading = asyncio.create_task(made.read())
        try:
            yield made
        finally:
            made.reading.cancel()
