"""Clients that do not read are bounded and slow nobody down."""

import asyncio
import base64
import json
import os
import socket
import statistics
import time
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import (
    PATIENCE,
    TOKEN,
    Client,
    Gateway,
    gateway,
    settings_for,
)
from toolgate.gateway.outbox import Outbox


async def raw(port: int, head: str, *, body: bytes = b"") -> tuple[int, str]:
    """Send these very bytes and return the status and everything that comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode("latin-1") + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read(65_536)
    writer.close()
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer.decode("latin-1")


async def get(running: Gateway, path: str, **headers: str) -> tuple[int, str]:
    given = {"Host": running.address, "Connection": "close", **headers}
    head = "\n".join([f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())])
    return await raw(running.port, head + "\n\n")


async def works(running: Gateway, token: str = TOKEN) -> None:
    """The gateway still serves an ordinary client."""
    async with running.client(token) as client:
        assert (await client.data("session.create"))["session_id"]


def _handshake(running: Gateway) -> str:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /ws HTTP/1.1\r\nHost: {running.address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    )


class Flood:
    """A model that never stops talking, until its answer is cut at a million bytes."""

    async def stream(self, request: Any) -> AsyncIterator[str]:
        if request.messages[-1]["content"] == "short":
            yield "ok"
            return
        for number in range(200_000):
            yield f"{number} {'x' * 200}\n"
            if number % 50 == 0:
                await asyncio.sleep(0)


async def test_g08_a_client_that_does_not_read_is_bounded_and_slows_nobody(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), Flood(), kernel_buffers=False) as running, running.client() as other:
        mine = await other.session()
        quiet = await _latency(other, mine)
        theirs = await other.session()
        deaf = await _deaf(running, theirs)
        await _until(lambda: any(c.outbox.size > 512 * 1024 for c in running.service.connections))
        loud = await _latency(other, mine)
        outbox = max((c.outbox for c in running.service.connections), key=lambda outbox: outbox.size)
        assert outbox.size < 10 * 1024 * 1024
        assert loud < max(20 * quiet, 0.5)
        await other.data("chat.cancel", session_id=theirs)
        deaf.close()
        await _until(lambda: len(running.service.connections) == 1)


async def test_g08_a_client_that_never_reads_again_is_hung_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.gateway.service._STALLED_SECONDS", 1.0)
    async with gateway(settings_for(tmp_path), Flood(), kernel_buffers=False) as running, running.client() as other:
        session = await other.session()
        deaf = await _deaf(running, session)
        assert len(running.service.connections) == 2
        await _until(lambda: len(running.service.connections) == 1)
        await other.data("chat.cancel", session_id=session)
        deaf.close()
        await works(running)


async def _deaf(running: Gateway, session: str) -> socket.socket:
    """A client that begins a turn and reads nothing of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", running.port))
    await loop.sock_sendall(client, _handshake(running).encode())
    assert b" 101 " in await loop.sock_recv(client, 1000)
    params = {"session_id": session, "content": "flood"}
    await loop.sock_sendall(client, _masked({"type": "request", "id": "1", "method": "chat.send", "params": params}))
    return client


async def _latency(client: Client, session: str) -> float:
    """The median time of a small request."""
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        await client.data("session.get", session_id=session)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _masked(frame: dict[str, Any]) -> bytes:
    payload = json.dumps(frame).encode()
    assert 125 < len(payload) < 65_536
    return bytes([0x81, 0xFE]) + len(payload).to_bytes(2, "big") + b"\0\0\0\0" + payload


async def _until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("ending", ["written", "closed"])
async def test_an_outbox_is_empty_when_the_last_frame_is_written_or_never_will_be(ending: str) -> None:
    written = asyncio.Event()

    async def send(_message: MutableMapping[str, Any]) -> None:
        await written.wait()

    outbox = Outbox(send)
    await asyncio.wait_for(outbox.sent(), PATIENCE)
    outbox.put("a frame")
    writing, waiting = asyncio.create_task(outbox.run()), asyncio.create_task(outbox.sent())
    assert not (await asyncio.wait({waiting}, timeout=0.1))[0]
    assert outbox.size == 0
    if ending == "written":
        written.set()
    else:
        outbox.close(1001, "")
    await asyncio.wait_for(waiting, PATIENCE)
    outbox.close(1001, "")
    written.set()
    await writing
