"""Frames: too large ones are refused, and whatever comes in, the server lives. Watchers and deleted sessions."""

import asyncio
import base64
import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from tests.gateway.kit import (
    PATIENCE,
    TOKEN,
    Gateway,
    gateway,
    settings_for,
)
from toolgate.protocol.ports import LoggedEvent


async def works(running: Gateway, token: str = TOKEN) -> None:
    """The gateway still serves an ordinary client."""
    async with running.client(token) as client:
        assert (await client.data("session.create"))["session_id"]


async def test_g07_an_enormous_frame_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        before = _rss()
        async with running.client() as client:
            with contextlib.suppress(ConnectionClosed):
                await client.raw("x" * (64 * 1024 * 1024))
            with pytest.raises(ConnectionClosed) as closed:
                await client.socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009
        head = bytes([0x81, 0xFF]) + (64 << 20).to_bytes(8, "big") + b"mask"
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(_handshake(running).encode())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        assert answer[:1] == b"\x88"
        assert answer[2:4] == (1009).to_bytes(2, "big")
        writer.close()
        await works(running)
        assert _rss() - before < 200 << 20  # the client's own copy is in this process, too


def _handshake(running: Gateway) -> str:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET /ws HTTP/1.1\r\nHost: {running.address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    )


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_g07_a_frame_just_over_the_limit_is_refused_and_one_below_is_not(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path, max_frame_bytes=4096)) as running, running.client() as client:
        await client.raw(" " * 4096)
        assert (await client.receive())["data"]["code"] == "PARSE_ERROR"
        await client.raw(" " * 4097)
        with pytest.raises(ConnectionClosed) as closed:
            await client.socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def test_g09_whatever_comes_in_the_server_lives(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        texts: list[str | bytes] = [
            b"\x00\xff",
            "\x00",
            "{",
            "[" * 100_000,
            '{"a":' * 100_000,
            '"\\ud800"',
            "NaN",
            "1e999",
        ]
        texts += ['{"type": "request", "id": "' + "x" * 500 + '", "method": "tools.list"}', "9" * 5000, "\ufeff{}"]
        texts += ['{"type": "request", "id": 99999999999999999999999, "method": "tools.list"}', "true", '""', " "]
        texts += [
            '{"type": "request", "id": "a", "method": "chat.send", "params": {"session_id": "\\u0000", "content": ""}}'
        ]
        texts += ['{"type": "request", "id": "a", "method": "' + "m" * 5000 + '"}']
        async with running.client() as client:
            for text in texts:
                await client.raw(text)
                frame = await client.receive()
                assert frame["type"] == "error", text[:80]
                assert len(json.dumps(frame)) < 2000
            assert (await client.data("session.create"))["mode"] == "chat_safe"
        for bad in (b"\xff\xfe\xfd", b"\xc3\x28", b"\xed\xa0\x80"):
            assert await _closes(running, bad) == 1007
        await works(running)


async def _closes(running: Gateway, payload: bytes) -> int:
    """The code that the connection is closed with after a text frame of these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(_handshake(running).encode())
    await reader.readuntil(b"\r\n\r\n")
    writer.write(bytes([0x81, 0x80 | len(payload)]) + b"\0\0\0\0" + payload)
    async with asyncio.timeout(PATIENCE):
        head = await reader.readexactly(2)
        code = int.from_bytes(await reader.readexactly(2), "big")
    writer.close()
    assert head[0] == 0x88
    return code


async def test_a_client_that_is_being_sent_the_log_is_told_that_its_session_was_deleted(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, running.client() as client, running.client() as other:
        session = await client.session()
        feed, reading, free = running.service.feed, asyncio.Event(), asyncio.Event()
        events = feed.events

        async def slow(session_id: str, after_seq: int = 0, *, limit: int = 1000) -> Sequence[LoggedEvent]:
            reading.set()
            await free.wait()
            return await events(session_id, after_seq, limit=limit)

        feed.events = slow  # type: ignore[method-assign]
        await client.data("session.subscribe", session_id=session, after_seq=0, details=True)
        await reading.wait()
        await other.data("session.delete", session_id=session)
        told = await client.receive()
        free.set()
        await client.data("tools.list")  # it is answered after the subscription was handled

        assert (told["type"], told["session_id"]) == ("session_deleted", session)
        assert client.waiting == []
        assert len(running.service.channels) == 0
