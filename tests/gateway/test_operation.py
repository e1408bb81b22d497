"""Running the gateway: health, numbers, an end in good order, TLS, and a log without secrets."""

import asyncio
import base64
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

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
    call,
    gateway,
    is_done,
    is_type,
    serving,
    settings_for,
    types,
)
from toolgate.gateway import create_app
from toolgate.gateway.access import Access
from toolgate.gateway.server import GatewayServer
from toolgate.testing import ScriptedModel


async def test_live_and_ready(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, httpx2.AsyncClient() as web:
        for path in ("live", "ready"):
            answer = await web.get(f"http://{running.address}/health/{path}")
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_not_ready_without_its_database(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, httpx2.AsyncClient() as web:
        await running.app.state.database.close()
        assert (await web.get(f"http://{running.address}/health/ready")).status_code == 503
        assert (await web.get(f"http://{running.address}/health/live")).status_code == 200


async def test_metrics_count_what_happens(tmp_path: Path) -> None:
    model = ScriptedModel([[call("current_time"), call("read_file", '{"path": "x"}', "c2")], "Done."])
    async with gateway(settings_for(tmp_path, coding=False), model) as running, httpx2.AsyncClient() as web:
        address = f"http://{running.address}/metrics"
        assert (await web.get(address)).status_code == 401
        async with running.client() as client:
            await client.turn(await client.session())
            numbers = ""
            async with asyncio.timeout(PATIENCE):  # the end is told from the log, and counted a moment later
                while 'toolgate_turns_total{ending="done"} 1.0' not in numbers:
                    numbers = (await web.get(address, headers=BEARER)).text
        assert "toolgate_connections 1.0" in numbers
        assert 'toolgate_tool_calls_total{status="success",tool="current_time"} 1.0' in numbers
        assert 'toolgate_tool_calls_total{status="denied",tool="read_file"} 1.0' in numbers
        assert 'toolgate_requests_total{method="chat.send"} 1.0' in numbers


async def test_every_answer_has_the_headers_that_keep_a_page_safe(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, httpx2.AsyncClient() as web:
        for path in ("/", "/static/index.html", "/health/live", "/nothing", "/auth"):
            headers = (await web.get(f"http://{running.address}{path}")).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "server" not in headers


async def test_the_pages_code_works_once_and_gives_a_key_and_no_cookie(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running, httpx2.AsyncClient() as web:
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
    async with gateway(settings) as first, gateway(settings) as second, httpx2.AsyncClient() as web:
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


async def test_a_turn_ends_before_the_gateway_does(tmp_path: Path) -> None:
    environ = {"TOOLGATE_GATEWAY_TOKEN": TOKEN, "SESSION_CODING_ENABLED": "true"}
    with serving(tmp_path, **environ) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client() as client:
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="Bash sleep 2; echo finished > done")
            await client.until(is_type("tool_call"))
            process.send_signal(signal.SIGTERM)
            await _refuses(port)
            late = await client.ask("chat.send", session_id=await client.session(), content="current_time")
            assert late["data"]["code"] == "SESSION_BUSY"
            frames = await client.until(is_done)
            assert "tool_result" in types(frames)
            with pytest.raises(ConnectionClosed):
                await client.receive()
        assert await asyncio.to_thread(process.wait, PATIENCE) == 0
        assert (tmp_path / "root/done").read_text() == "finished\n"


async def test_a_turn_that_takes_too_long_is_cut_off_in_good_order(tmp_path: Path) -> None:
    environ = {
        "TOOLGATE_GATEWAY_TOKEN": TOKEN,
        "SESSION_CODING_ENABLED": "true",
        "TOOLGATE_GATEWAY_SHUTDOWN_SECONDS": "0.5",
    }
    with serving(tmp_path, **environ) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client() as client:
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="Bash sleep 300")
            await client.until(is_type("tool_call"))
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, PATIENCE) == 0
            assert time.monotonic() - begun < 20
    with serving(tmp_path, name="again", **environ) as (_, port, _):
        async with Gateway(None, port).client() as client:  # type: ignore[arg-type]
            assert (await client.data("session.get", session_id=session))["running"] is False
            await client.data("session.subscribe", session_id=session)
            frames = await client.until(is_done)
            assert frames[-2]["data"]["code"] == "CANCELLED"
            assert "tool_result" in types(await client.turn(session, "current_time"))


async def _refuses(port: int) -> None:
    """Nobody new is let in."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return
            writer.close()
            await asyncio.sleep(0.05)


async def test_a_killed_gateway_shows_its_turn_as_interrupted_at_the_next_start(tmp_path: Path) -> None:
    environ = {"TOOLGATE_GATEWAY_TOKEN": TOKEN, "SESSION_CODING_ENABLED": "true"}
    with serving(tmp_path, **environ) as (process, port, _):
        async with Gateway(None, port).client() as client:  # type: ignore[arg-type]
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="Bash sleep 300")
            await client.until(is_type("tool_call"))
            process.kill()
            await asyncio.to_thread(process.wait, PATIENCE)
    with serving(tmp_path, name="again", **environ) as (_, port, _):
        async with Gateway(None, port).client() as client:  # type: ignore[arg-type]
            await client.data("session.subscribe", session_id=session, details=True)
            frames = await client.until(is_done)
            ending = next(frame["data"] for frame in frames if frame["type"] == "turn_finished")
            assert (ending["status"], ending["code"]) == ("interrupted", "INTERRUPTED")


async def test_it_speaks_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    _make_certificate(key, certificate)
    words = ["--tls-cert", str(certificate), "--tls-key", str(key)]
    with serving(tmp_path, *words, TOOLGATE_GATEWAY_TOKEN=TOKEN) as (_, port, address):
        assert address.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(certificate))
        trusting.check_hostname = False
        options: dict[str, Any] = {"additional_headers": BEARER, "ssl": trusting, "proxy": None}
        async with connect(f"wss://127.0.0.1:{port}/ws", **options) as socket:
            assert (await Client(socket).data("session.create"))["mode"] == "chat_safe"
        code = address.partition("#")[2]
        async with httpx2.AsyncClient(verify=trusting) as web:
            own = {"Origin": f"https://127.0.0.1:{port}"}
            answer = await web.post(f"https://127.0.0.1:{port}/auth", json={"code": code}, headers=own)
            assert answer.json()["key"]
            evil = {"Origin": f"http://127.0.0.1:{port}"}
            assert (await web.get(f"https://127.0.0.1:{port}/auth", headers=evil)).status_code == 403


def _make_certificate(key: Path, certificate: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))


async def test_the_log_says_who_came_and_no_secret(tmp_path: Path) -> None:
    with serving(tmp_path, TOOLGATE_GATEWAY_TOKENS=f"alice:{TOKEN}") as (_, port, address):
        assert "for alice" not in address
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client() as client:
            await client.turn(await client.session(), f"my token is {TOKEN}")
            history = json.dumps(await client.data("session.list"))
            assert TOKEN not in history
    log = (tmp_path / "serve.log").read_text()
    assert "client_connected user='alice'" in log
    assert "client_left" in log
    assert TOKEN not in log
    assert address.partition("#")[2] not in log


def test_what_cannot_be_served_is_said_in_one_line(tmp_path: Path) -> None:
    for words, said in (
        (["--port", "70000"], "65535"),
        (["--tls-cert", "x.pem"], "TLS_KEY"),
        (["--model", "openai:x"], "OPENAI_API_KEY"),
        (["--nonsense"], "--nonsense"),
    ):
        environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "/nonexistent", "TOOLGATE_WORKSPACE_ROOT": str(tmp_path)}
        command = [sys.executable, "-m", "toolgate", "serve", *words]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


async def test_no_answer_waits_until_the_one_before_has_arrived(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = GatewayServer(create_app(settings_for(tmp_path)))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        assert not serving.done(), "the gateway did not start"
        await asyncio.sleep(0.01)
    _, writer = await asyncio.open_connection(*listening.getsockname())
    while not server.server_state.connections:
        await asyncio.sleep(0.01)
    (connection,) = server.server_state.connections
    accepted = cast("Any", connection).transport.get_extra_info("socket")

    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    writer.close()
    server.should_exit = True
    await asyncio.wait_for(serving, PATIENCE)
