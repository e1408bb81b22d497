"""Tokens: without one there is no upgrade, and one that was withdrawn works nowhere."""

import asyncio
import base64
import contextlib
import json
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.gateway.kit import (
    BEARER,
    PATIENCE,
    TOKEN,
    Client,
    Gateway,
    gateway,
    serving,
    settings_for,
    web_client,
)
from toolgate.gateway.access import Access


async def raw(port: int, head: str, *, body: bytes = b"") -> tuple[int, str]:
    """Send these very bytes and return the status and everything that comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode("latin-1") + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read(65_536)
    writer.close()
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer.decode("latin-1")


async def upgrade(running: Gateway, path: str = "/ws", **headers: str | list[str]) -> int:
    """The status of a WebSocket handshake with exactly these headers."""
    given: dict[str, Any] = {
        "Host": running.address,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {path} HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines.append(f"Sec-WebSocket-Key: {key}")
    for name, value in given.items():
        lines += [f"{name}: {one}" for one in ([value] if isinstance(value, str) else value)]
    return (await raw(running.port, "\n".join(lines) + "\n\n"))[0]


async def get(running: Gateway, path: str, **headers: str) -> tuple[int, str]:
    given = {"Host": running.address, "Connection": "close", **headers}
    head = "\n".join([f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())])
    return await raw(running.port, head + "\n\n")


async def works(running: Gateway, token: str = TOKEN) -> None:
    """The gateway still serves an ordinary client."""
    async with running.client(token) as client:
        assert (await client.data("session.create"))["session_id"]


async def test_g01_without_or_with_a_wrong_token_there_is_no_upgrade(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        assert await upgrade(running) == 401
        for wrong in ("", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
            assert await upgrade(running, Authorization=f"Bearer {wrong}") == 401
            assert await upgrade(running, Sec_WebSocket_Protocol=f"toolgate.bearer.{wrong}") == 401
        assert await upgrade(running, Authorization="Bearer " + "\xfc" * 30) == 401
        assert await upgrade(running, Sec_WebSocket_Protocol="toolgate.bearer." + "\xfc" * 30) in (400, 401)
        assert await upgrade(running, Authorization=f"Basic {TOKEN}") == 401
        assert await upgrade(running, Authorization=TOKEN) == 401
        for name in (
            "toolgate",
            f"toolgate_{running.port}",
            "token",
            "__Host-toolgate",
        ):  # any port can read and set one
            for value in (TOKEN, _page_key(running)):
                own = f"http://{running.address}"
                assert await upgrade(running, Cookie=f"{name}={value}", Origin=own) == 401
                for path in ("/auth", "/metrics", "/status", "/sessions/x/outputs/1"):
                    assert (await get(running, path, Cookie=f"{name}={value}"))[0] == 401
        assert await upgrade(running, Sec_WebSocket_Protocol=f"{TOKEN}, bearer.{TOKEN}") == 401
        assert not running.service.connections
        assert await upgrade(running, **BEARER) == 101
        assert await upgrade(running, Sec_WebSocket_Protocol=f"toolgate.bearer.{TOKEN}") == 101


async def test_g01_a_token_in_the_first_frame_is_the_only_thing_that_is_heard(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        address = f"ws://{running.address}/ws"
        options: dict[str, Any] = {"subprotocols": ["toolgate.first-frame"], "proxy": None}
        async with connect(address, **options) as socket:
            await socket.send(json.dumps({"type": "auth", "token": TOKEN}))
            assert (await Client(socket).data("session.create"))["mode"] == "chat_safe"
        for first in ('{"type": "auth", "token": "wrong"}', '{"type": "auth"}', "x", '{"type":"request","id":"1"}'):
            async with connect(address, **options) as socket:
                await socket.send(first)
                assert json.loads(await socket.recv())["type"] == "error"
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 4401
        assert not running.service.connections


def _page_key(running: Gateway) -> str:
    access = running.app.state.access
    text: str = access.page_key(access.by_token(TOKEN)).text
    return text


async def test_g05_a_token_in_an_address_is_refused_and_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with gateway(settings_for(tmp_path)) as running:
        for query in (f"token={TOKEN}", f"access_token={TOKEN}", f"Auth={TOKEN}", f"x=1&bearer={TOKEN}", TOKEN):
            assert await upgrade(running, f"/ws?{query}") == 401
            assert await upgrade(running, f"/ws?{query}", **BEARER) == 400
        for path in ("/", "/health/live", "/auth", "/static/index.html"):
            assert (await get(running, f"{path}?token={TOKEN}"))[0] == 400
        assert (await get(running, f"/health/live?x={TOKEN}"))[0] == 400
        assert (await get(running, f"/health/live?{TOKEN}"))[0] == 400
        assert (await get(running, "/health/live?x=1"))[0] == 200
    assert TOKEN not in caplog.text


async def test_g06_a_withdrawn_token_works_nowhere(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("alice:first-token-of-alice\nbob:token-of-bob-0123\n")
    tokens.chmod(0o600)
    with serving(tmp_path, TOOLGATE_GATEWAY_TOKEN_FILE=str(tokens)) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client("first-token-of-alice") as alice, running.client("token-of-bob-0123") as bob:
            await alice.session()
            tokens.write_text("alice:second-token-of-alice\nbob:token-of-bob-0123\n")
            process.send_signal(signal.SIGHUP)
            with pytest.raises(ConnectionClosed) as closed:
                async with asyncio.timeout(PATIENCE):
                    await alice.socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
            assert (await bob.data("session.create"))["mode"] == "chat_safe"
        with pytest.raises(InvalidStatus, match="401"):
            async with running.client("first-token-of-alice"):
                pass
        await works(running, "second-token-of-alice")
        tokens.write_text("broken line\n")
        process.send_signal(signal.SIGHUP)
        await works(running, "second-token-of-alice")
    log = (tmp_path / "serve.log").read_text()
    assert "tokens_reloaded" in log
    assert "tokens_not_reloaded" in log
    assert "token-of" not in log


async def test_g06_a_token_that_came_later_is_masked_in_a_session_that_was_there_before(tmp_path: Path) -> None:
    tokens, late = tmp_path / "tokens", "late-token-of-bob-0123"
    tokens.write_text("alice:first-token-of-alice\n")
    tokens.chmod(0o600)
    (tmp_path / "root").mkdir()
    (tmp_path / "root/secret.txt").write_text(f"{late} and first-token-of-alice\n" * 3)
    environ = {"TOOLGATE_GATEWAY_TOKEN_FILE": str(tokens), "SESSION_CODING_ENABLED": "true"}
    with serving(tmp_path, **environ) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client("first-token-of-alice") as alice:
            session = await alice.session("coding")
            await alice.turn(session, "Bash true")  # so that what masks is there already
            tokens.write_text(f"alice:first-token-of-alice\nbob:{late}\n")
            process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(PATIENCE):
                while "tokens_reloaded" not in (tmp_path / "serve.log").read_text():
                    await asyncio.sleep(0.05)
            await works(running, late)
            await alice.data("session.subscribe", session_id=session, after_seq=9999, details=True)
            frames = []
            for message in (
                "read_file path=secret.txt",
                "Bash cat secret.txt; sleep 0.1",
                f"I am {late}",
                f"rm {late}",
            ):
                frames += await alice.turn(session, message)
            await alice.data("session.rename", session_id=session, title=late)
            frames += [await alice.data("session.list"), await alice.data("chat.history", session_id=session)]
    assert "[redacted] and [redacted]" in json.dumps(frames)
    assert late not in json.dumps(frames)
    assert late not in (tmp_path / "serve.log").read_text()


async def test_g06_a_pages_key_dies_with_its_token(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        headers = {"Origin": f"http://{running.address}", "Authorization": f"Bearer {_page_key(running)}"}
        async with connect(f"ws://{running.address}/ws", additional_headers=headers, proxy=None) as socket:
            client = Client(socket)
            await client.session()
            running.app.state.access.replace({"": "another-token-entirely"})
            running.service.close_expired()
            with pytest.raises(ConnectionClosed):
                await client.receive()
        assert await upgrade(running, **headers) == 401


async def test_g06_who_does_not_read_the_end_is_not_heard_any_more(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), Flood(), kernel_buffers=False) as running, running.client() as other:
        session = await other.session()
        deaf = await _deaf(running, session)
        await _until(lambda: any(c.outbox.size > 512 * 1024 for c in running.service.connections))
        service = running.service
        running.app.state.access.replace({"": "another-token-entirely"})
        service.close_expired()
        params = {"session_id": session, "title": "taken over by someone who was sent away long ago"}
        rename = _masked({"type": "request", "id": "2", "method": "session.rename", "params": params})
        await asyncio.get_running_loop().sock_sendall(deaf, rename)
        await _until(lambda: not service.connections)
        assert (await service.sessions.get(session)).title == "flood"
        deaf.close()
        await service.turns_of("").cancel(session)


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


def _masked(frame: dict[str, Any]) -> bytes:
    payload = json.dumps(frame).encode()
    assert 125 < len(payload) < 65_536
    return bytes([0x81, 0xFE]) + len(payload).to_bytes(2, "big") + b"\0\0\0\0" + payload


async def _until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


async def test_g12_sockets_that_do_not_say_who_they_are_take_no_place_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.gateway.auth._FIRST_FRAME_SECONDS", 600.0)  # none is closed while others connect
    async with gateway(settings_for(tmp_path)) as running, contextlib.AsyncExitStack() as stack:
        options: dict[str, Any] = {"subprotocols": ["toolgate.first-frame"], "proxy": None}
        address = f"ws://{running.address}/ws"
        for _ in range(64):
            await stack.enter_async_context(connect(address, **options))
        with pytest.raises(InvalidStatus, match="503"):
            await stack.enter_async_context(connect(address, **options))
        await works(running)


async def test_g12_a_socket_that_never_says_who_it_is_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.gateway.auth._FIRST_FRAME_SECONDS", 0.2)
    async with gateway(settings_for(tmp_path)) as running:
        options: dict[str, Any] = {"subprotocols": ["toolgate.first-frame"], "proxy": None}
        async with connect(f"ws://{running.address}/ws", **options) as one:
            assert json.loads(await one.recv())["type"] == "error"
            with pytest.raises(ConnectionClosed):
                await one.recv()
            assert one.close_code == 4401


async def test_the_pages_code_works_once_and_gives_a_key_and_no_cookie(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, web_client() as web:
        address = f"http://{running.address}/auth"
        code = running.app.state.access.code_for("")
        own = {"Origin": f"http://{running.address}"}
        assert (await web.get(address)).status_code == 401
        assert (await web.post(address, json={"code": code})).status_code == 403  # from no page
        assert (await web.post(address, data={"code": code}, headers=own)).status_code == 403  # from a form
        assert (await web.post(address, json={"code": "wrong"}, headers=own)).status_code == 401
        answer = await web.post(address, json={"code": code}, headers=own)
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
        key = answer.json()["key"]
        assert TOKEN not in key
        shown = {"Authorization": f"Bearer {key}"}
        assert (await web.get(address, headers=shown)).json() == {"user": ""}
        assert await _works(running, key)
        assert (await web.post(address, json={"code": code}, headers=own)).status_code == 401
        assert (await web.post(address, json={"token": TOKEN}, headers=own)).status_code == 200
        assert (await web.delete(address, headers={**own, **shown})).status_code == 204
        assert (await web.get(address, headers=shown)).status_code == 401


async def _works(running: Gateway, key: str) -> bool:
    """Whether a page's key opens the socket as a browser shows it."""
    options: dict[str, Any] = {"subprotocols": [f"toolgate.bearer.{key}"], "proxy": None}
    with contextlib.suppress(InvalidStatus):
        async with connect(f"ws://{running.address}/ws", origin=f"http://{running.address}", **options) as socket:  # type: ignore[arg-type]
            return bool((await Client(socket).data("session.create"))["session_id"])
    return False


async def _sign_in(running: Gateway, web: httpx2.AsyncClient, **given: str) -> dict[str, Any]:
    answer = await web.post(
        f"http://{running.address}/auth",
        json=given or {"code": running.app.state.access.code_for("")},
        headers={"Origin": f"http://{running.address}"},
    )
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_signing_out_ends_every_key_of_the_sign_in_also_after_a_restart_and_elsewhere(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with gateway(settings) as first, gateway(settings) as second, web_client() as web:
        key = (await _sign_in(first, web))["key"]
        other = (await _sign_in(first, web))["key"]
        address, own = f"http://{first.address}/auth", {"Origin": f"http://{first.address}"}
        shown = {**own, "Authorization": f"Bearer {key}"}
        renewed = (await web.post(address, json={}, headers=shown)).json()["key"]
        options: dict[str, Any] = {"additional_headers": {"Authorization": f"Bearer {key}"}, "proxy": None}
        async with (
            connect(f"ws://{first.address}/ws", **options) as here,
            connect(f"ws://{second.address}/ws", **options) as there,
        ):
            assert (await web.delete(address, headers=shown)).status_code == 204
            for socket in (here, there):  # connections that are open are closed, at the other gateway too
                with pytest.raises(ConnectionClosed) as closed:
                    async with asyncio.timeout(PATIENCE):
                        await socket.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 4401
        for running in (first, second):
            assert not await _works(running, key)
            assert not await _works(running, renewed)
            assert await _works(running, other)
    async with gateway(settings) as third:
        assert not await _works(third, key)
        assert not await _works(third, renewed)
        assert await _works(third, other)


async def test_a_key_expires_and_can_be_renewed_for_a_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr("toolgate.gateway.access.time.time", lambda: now)
    access = Access({"": TOKEN})
    identity = access.by_token(TOKEN)
    assert identity is not None
    first = access.page_key(identity)
    assert first is not None
    assert first.until - now <= 24 * 3600
    days, key = 0, first
    while True:
        now += 20 * 3600
        days += 1
        held = access.by_token(key.text)
        if held is None or (later := access.page_key(held)) is None:
            break
        assert access.by_token(key.text) is not None
        key = later
    assert 7 * 24 <= 20 * days <= 8 * 24
    assert access.by_token(first.text) is None


async def test_a_key_that_was_changed_does_not_count(tmp_path: Path) -> None:
    access = Access({"alice": TOKEN, "bob": "another-token-of-the-gateway"})
    alice = access.by_token(TOKEN)
    assert alice is not None
    key = access.page_key(alice)
    assert key is not None
    parts = key.text.split(".")
    forged = [".".join([*parts[:place], changed, *parts[place + 1 :]]) for place, changed in _changes(parts)]
    assert all(access.by_token(text) is None for text in forged)
    assert access.by_token(key.text) is not None
    access.replace({"alice": "a-new-token-for-alice-123", "bob": "another-token-of-the-gateway"})
    assert access.by_token(key.text) is None


def _changes(parts: list[str]) -> Iterator[tuple[int, str]]:
    """Every part of a key, with something else in its place."""
    yield 1, base64.urlsafe_b64encode(b"bob").decode().rstrip("=")
    yield 2, "00000000-0000-7000-8000-000000000000"
    for place in (3, 4):
        yield place, str(int(parts[place]) + 1)
        yield place, "-1"
        yield place, "9" * 40
    yield 5, "0" * 64
    yield 5, ""
