"""Running the gateway: health, numbers, an end in good order, TLS, and a log without secrets."""

import asyncio
import json
import signal
import socket
import time
from pathlib import Path
from typing import Any, cast

import pytest
from websockets.exceptions import ConnectionClosed

from tests.gateway.kit import (
    PATIENCE,
    TOKEN,
    Gateway,
    is_done,
    is_type,
    serving,
    settings_for,
    types,
)
from toolgate.gateway import create_app
from toolgate.gateway.server import GatewayServer


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


async def test_a_client_that_does_not_read_is_cut_off_at_the_end(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = GatewayServer(create_app(settings_for(tmp_path)))
    server.config.timeout_graceful_shutdown = 1
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        assert not serving.done(), "the gateway did not start"
        await asyncio.sleep(0.01)
    with socket.create_connection(listening.getsockname()) as client:
        port = listening.getsockname()[1]
        client.sendall(f"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert (await asyncio.to_thread(client.recv, 100_000)).startswith(b"HTTP/1.1 200")
        (connection,) = server.server_state.connections
        cast("Any", connection).transport.write(bytes(50_000_000))
        server.should_exit = True
        async with asyncio.timeout(PATIENCE):
            await serving
            while server.server_state.connections:
                await asyncio.sleep(0.01)
