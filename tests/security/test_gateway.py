"""Group G of the attack matrix: the gateway, its socket and its page's files, over real sockets."""

import asyncio
import base64
import contextlib
import json
import logging
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.gateway.kit import (
    BEARER,
    PATIENCE,
    TOKEN,
    Client,
    Gateway,
    call,
    gateway,
    is_done,
    is_type,
    serving,
    settings_for,
    types,
)
from toolgate.gateway.assets import Assets
from toolgate.testing import ScriptedModel


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
    """The gateway serves whoever may be served."""
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


async def test_g02_other_origins_are_refused(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        port = running.port
        protocol = f"toolgate.bearer.{_page_key(running)}"
        evil = [
            "http://evil.com",
            "null",
            "",
            f"http://evil.com:{port}",
            f"http://127.0.0.1:{port + 1}",
            "http://127.0.0.1",
        ]
        evil += [f"http://127.0.0.1:{port}.evil.com", f"http://127.0.0.1:{port}@evil.com", f"https://127.0.0.1:{port}"]
        evil += [f"http://127.0.0.1.evil.com:{port}", f"http://localhost:{port}/", "file://", f"http://[::1]:{port}0"]
        for origin in evil:
            assert await upgrade(running, Origin=origin, **BEARER) == 403, origin
            assert await upgrade(running, Origin=origin, Sec_WebSocket_Protocol=protocol) == 403, origin
            assert (await get(running, "/health/live", Origin=origin))[0] == 403, origin
        twice = [f"http://127.0.0.1:{port}", "http://evil.com"]
        assert await upgrade(running, Origin=twice, Sec_WebSocket_Protocol=protocol) in (400, 403)
        for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", f"http://[::1]:{port}"):
            assert await upgrade(running, Origin=origin, Sec_WebSocket_Protocol=protocol) == 101
        assert await upgrade(running, **BEARER) == 101


def _page_key(running: Gateway) -> str:
    access = running.app.state.access
    text: str = access.page_key(access.by_token(TOKEN)).text
    return text


async def test_g03_other_hosts_are_refused(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path, allowed_hosts=("gate.example",))) as running:
        port = running.port
        evil = [f"evil.com:{port}", "evil.com", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}.evil.com", ""]
        evil += [
            f"localhost.evil.com:{port}",
            f"127.0.0.2:{port}",
            f"0.0.0.0:{port}",
            f"127.0.0.1:0{port}0",
            f"localhost.:{port}",
        ]
        for host in evil:
            assert await upgrade(running, Host=host, **BEARER) in (403, 421, 400), host
            assert (await get(running, "/", Host=host))[0] in (403, 421, 400), host
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "gate.example"):
            assert await upgrade(running, Host=host, **BEARER) == 101, host
        assert await upgrade(running, Host="gate.example", Origin="https://gate.example", **BEARER) == 101


def test_g04_another_address_needs_encryption_or_a_clear_word(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TOOLGATE_WORKSPACE_ROOT": str(tmp_path)}
    for host in ("0.0.0.0", "::"):
        command = [sys.executable, "-m", "toolgate", "serve", "--host", host, "--port", "0"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert "--tls-cert" in done.stderr
        assert "Traceback" not in done.stderr
    with serving(tmp_path) as (process, port, address):
        assert address.startswith("http://127.0.0.1:")
        assert _listening(process.pid) == {("0100007F", port)}
    with serving(tmp_path, "--host", "0.0.0.0", "--insecure-http") as (process, port, _):
        assert _listening(process.pid) == {("00000000", port)}


def _listening(pid: int) -> set[tuple[str, int]]:
    """Where a process listens, as the kernel has it."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                host, port = fields[1].split(":")
                found.add((host, int(port, 16)))
    return found


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
            running.service.withdraw_expired()
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
        service.withdraw_expired()
        params = {"session_id": session, "title": "taken over by someone who was sent away long ago"}
        rename = _masked({"type": "request", "id": "2", "method": "session.rename", "params": params})
        await asyncio.get_running_loop().sock_sendall(deaf, rename)
        await _until(lambda: not service.connections)
        assert (await service.sessions.get(session)).title == "flood"
        deaf.close()
        await service.turns_of("").cancel(session)


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
    monkeypatch.setattr("toolgate.gateway.service._STALLED", 1.0)
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


async def test_g10_another_users_session_does_not_exist(tmp_path: Path) -> None:
    tokens = SecretStr("alice:token-of-alice-0123,bob:token-of-bob-4567")
    write = call("write_file", '{"path": "a.txt", "content": "x"}')
    async with (
        gateway(settings_for(tmp_path, tokens=tokens), ScriptedModel([[write], "Done."])) as running,
        running.client("token-of-alice-0123") as alice,
        running.client("token-of-bob-4567") as bob,
    ):
        session = await alice.session("coding")
        await alice.send("chat.send", session_id=session, content="secret plans")
        question = (await alice.until(is_type("approval_request")))[-1]["data"]["id"]
        unknown = "01a1e362-8933-77a8-a04a-f8e9a193796f"
        for method, more in (
            ("chat.send", {"content": "x"}),
            ("chat.history", {}),
            ("chat.cancel", {}),
            ("session.get", {}),
            ("session.rename", {"title": "x"}),
            ("session.subscribe", {}),
        ):
            theirs = await bob.ask(method, session_id=session, **more)
            nobodys = await bob.ask(method, session_id=unknown, **more)
            assert theirs["type"] == "error"
            assert theirs["data"] == nobodys["data"]
        theirs = await bob.ask("approval.respond", id=question, allowed=True)
        nobodys = await bob.ask("approval.respond", id=unknown, allowed=True)
        assert (theirs["type"], theirs["data"]) == ("error", nobodys["data"])
        assert (await bob.data("session.list"))["sessions"] == []
        assert await bob.silent(0.1)
        assert not (tmp_path / "root/a.txt").exists()
        status, _ = await get(running, f"/sessions/{session}/outputs/1", Authorization="Bearer token-of-bob-4567")
        assert status == 404
        await alice.data("approval.respond", id=question, allowed=True)
        await alice.until(is_done)


async def test_g10_and_it_takes_as_long_as_one_that_never_was(tmp_path: Path) -> None:
    tokens = SecretStr("alice:token-of-alice-0123,bob:token-of-bob-4567")
    settings = settings_for(tmp_path, tokens=tokens, max_requests_per_second=100_000)
    async with (
        gateway(settings, ScriptedModel(["Hi."])) as running,
        running.client("token-of-alice-0123") as alice,
        running.client("token-of-bob-4567") as bob,
    ):
        session = await alice.session()
        await alice.turn(session)
        times: dict[str, list[float]] = {session: [], "01a1e362-8933-77a8-a04a-f8e9a193796f": []}
        for _ in range(100):
            for wanted, taken in times.items():
                begun = time.perf_counter()
                await bob.ask("session.get", session_id=wanted)
                taken.append(time.perf_counter() - begun)
        theirs, nobodys = (statistics.median(taken) for taken in times.values())
        assert 0.5 < theirs / nobodys < 2


async def test_g11_a_denial_is_six_fields_then_text_then_the_end(tmp_path: Path) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "ls"}')], "I cannot."])
    async with gateway(settings_for(tmp_path, coding=False), model) as running, running.client() as client:
        frames = await client.turn(await client.session())
        assert types(frames) == ["tool_call", "tool_denied", "stream_chunk", "stream_chunk"]
        denied = frames[1]["data"]
        assert list(denied) == ["tool_name", "call_id", "mode", "error_code", "message", "next_action"]
        assert all(isinstance(value, str) and value for value in denied.values())


async def test_g12_idle_connections_and_half_open_ones_keep_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.gateway.protocols.HANDSHAKE_SECONDS", 2.0)
    async with gateway(settings_for(tmp_path, max_connections=20)) as running:
        silent = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(300)]
        trickle = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(20)]
        for _, writer in trickle:
            writer.write(b"GET /ws HTTP/1.1\r\nHost: ")
        await works(running)
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(running.client()) for _ in range(20)]
            with pytest.raises(InvalidStatus, match="503"):
                async with running.client():
                    pass
            for client in clients:
                assert (await client.data("session.create"))["mode"] == "chat_safe"
        for reader, writer in silent + trickle:
            with contextlib.suppress(ConnectionResetError):
                async with asyncio.timeout(PATIENCE):
                    assert (await reader.read()).startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 503 "))
            writer.close()
        await works(running)


async def test_g12_a_socket_that_never_says_who_it_is_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.gateway.auth._FIRST_FRAME_SECONDS", 0.5)
    async with gateway(settings_for(tmp_path)) as running:
        options: dict[str, Any] = {"subprotocols": ["toolgate.first-frame"], "proxy": None}
        async with contextlib.AsyncExitStack() as stack:
            address = f"ws://{running.address}/ws"
            waiting = [await stack.enter_async_context(connect(address, **options)) for _ in range(64)]
            with pytest.raises(InvalidStatus, match="503"):
                await stack.enter_async_context(connect(address, **options))
            await works(running)
            for one in waiting:
                assert json.loads(await one.recv())["type"] == "error"
                with pytest.raises(ConnectionClosed):
                    await one.recv()
                assert one.close_code == 4401


async def test_g13_a_turn_goes_on_when_its_client_leaves_and_leaves_no_process(tmp_path: Path) -> None:
    mark = f"{os.getpid()}{time.time_ns()}"[-12:]
    model = ScriptedModel([[call("Bash", f'{{"command": "sleep 1; echo {mark} > done; sleep 0.{mark} &"}}')], "Done."])
    async with gateway(settings_for(tmp_path), model) as running:
        async with running.client() as client:
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="x")
            await client.until(is_type("tool_call"))
        async with running.client() as client:
            await client.data("session.subscribe", session_id=session, after_seq=0)
            frames = await client.until(is_done)
            assert types(frames) == ["tool_call", "tool_result", "stream_chunk", "stream_chunk"]
        assert (tmp_path / "root/done").read_text() == f"{mark}\n"
        await _until(lambda: not _processes_with(mark))


def _processes_with(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


async def test_g13_cancelling_or_ending_the_gateway_leaves_no_process(tmp_path: Path) -> None:
    for how in ("cancel", "end"):
        mark = f"9{time.time_ns()}"[-10:]
        model = ScriptedModel([[call("Bash", f'{{"command": "setsid sleep {mark} & sleep {mark}"}}')], "Done."])
        settings = settings_for(tmp_path, shutdown_seconds=0.2)
        async with gateway(settings, model) as running, running.client() as client:
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="x")
            await _until(lambda mark=mark: _processes_with(mark))
            if how == "cancel":
                await client.data("chat.cancel", session_id=session)
                await client.until(is_done)
                await _until(lambda mark=mark: not _processes_with(mark))
        await _until(lambda mark=mark: not _processes_with(mark))


async def test_g15_only_the_pages_own_files_are_served(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        passwd = ["/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/../../../../etc/passwd"]
        passwd += [
            "/static//etc/passwd",
            "/static/....//etc/passwd",
            "/static/%00",
            "/static/index.html%00.js",
            "/static/",
        ]
        passwd += [
            "/static/..\\..\\etc\\passwd",
            "/static/%252e%252e/app.py",
            "/static/../app.py",
            "/static/.",
            "/static/INDEX.HTML",
        ]
        for path in passwd:
            status, answer = await get(running, path)
            assert status == 404, path
            assert "root:" not in answer
        status, answer = await get(running, "/static/index.html")
        assert status == 200
        assert "default-src 'none'" in answer


def test_g15_links_in_the_directory_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "outside.js").write_text("secret")
    static = tmp_path / "static"
    (static / "real").mkdir(parents=True)
    (static / "real/a.js").write_text("fine")
    (static / ".hidden.js").write_text("secret")
    (static / "notes.txt").write_text("secret")
    (static / "link.js").symlink_to(tmp_path / "outside.js")
    (static / "dir").symlink_to(tmp_path)
    assert list(Assets(static)._files) == ["real/a.js"]
