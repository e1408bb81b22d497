"""Running the gateway: health, numbers, an end in good order, TLS, and a log without secrets."""

import asyncio
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

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


async def test_the_pages_code_works_once_and_gives_a_cookie_that_scripts_cannot_read(tmp_path: Path) -> None:
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
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        assert (await web.get(address)).json() == {"user": ""}
        headers = {**own, "Cookie": cookie.split(";")[0]}
        async with connect(f"ws://{running.address}/ws", additional_headers=headers, proxy=None) as socket:
            assert (await Client(socket).data("session.create"))["mode"] == "chat_safe"
        web.cookies.clear()
        assert (await web.post(address, json={"code": code}, headers=own)).status_code == 401
        assert (await web.post(address, json={"token": TOKEN}, headers=own)).status_code == 200
        assert (await web.delete(address, headers=own)).status_code == 204
        assert (await web.get(address)).status_code == 401


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
            assert "Secure" in answer.headers["set-cookie"]
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
