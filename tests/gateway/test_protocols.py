"""Limits of the process: descriptors, silent clients, and the end of its time."""

import asyncio
import json
import os
import resource
import signal
import socket
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.gateway.kit import PATIENCE, TOKEN, Gateway, gateway, is_done, is_type, serving, settings_for, types
from toolgate.gateway import protocols
from toolgate.testing import ScriptedModel

ENVIRON = {"TOOLGATE_GATEWAY_TOKEN": TOKEN, "SESSION_CODING_ENABLED": "true"}
DESCRIPTORS = 96


def _knock(port: int, count: int) -> list[socket.socket]:
    return [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(count)]


def _heard(client: socket.socket) -> bytes:
    client.settimeout(PATIENCE)
    try:
        return client.recv(4096)
    except ConnectionResetError:
        return b""


async def _has_room(running: Gateway) -> bool:
    try:
        async with running.client() as client:
            return bool(await client.session())
    except (InvalidHandshake, OSError):
        return False


async def test_out_of_descriptors_others_are_served_and_the_rest_is_told(tmp_path: Path) -> None:
    with serving(tmp_path, **ENVIRON) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client() as client:
            session = await client.session()
            await client.turn(session, "current_time")
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
            crowd = await asyncio.to_thread(_knock, port, 300)
            try:
                answers = await asyncio.to_thread(lambda: [_heard(one) for one in crowd[-100:]])
                assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
                for _ in range(5):  # the crowd keeps nobody waiting
                    assert "tool_result" in types(await client.turn(session, "current_time"))
            finally:
                for one in crowd:
                    one.close()
            async with asyncio.timeout(PATIENCE):
                while not await _has_room(running):  # until it has seen that they are gone
                    await asyncio.sleep(0.01)
        log = (tmp_path / "serve.log").read_text()
        assert "no_descriptor_left" in log
        assert len(log.splitlines()) < 50
        assert "out of system resource" not in log


async def test_who_is_silent_for_too_long_or_among_too_many_gets_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.gateway.kit import gateway, settings_for

    monkeypatch.setattr(protocols, "MAX_SILENT", 8)
    monkeypatch.setattr(protocols, "HANDSHAKE_SECONDS", 1.0)
    async with gateway(settings_for(tmp_path)) as running:
        silent = await asyncio.to_thread(_knock, running.port, 9)
        try:
            first = await asyncio.to_thread(_heard, silent[0])
            assert first.startswith(b"HTTP/1.1 503 ")
            others = await asyncio.gather(*(asyncio.to_thread(_heard, one) for one in silent[1:]))
            assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in others)
            async with running.client() as client:
                assert await client.session()
        finally:
            for one in silent:
                one.close()


async def test_sigterm_sends_the_last_frames_of_a_turn_that_would_not_end(tmp_path: Path) -> None:
    environ = {**ENVIRON, "TOOLGATE_GATEWAY_SHUTDOWN_SECONDS": "0.3"}
    with serving(tmp_path, **environ) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client() as client:
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="Bash sleep 600")
            await client.until(is_type("tool_call"))
            process.send_signal(signal.SIGTERM)
            frames = await client.until(is_done)
            assert types(frames) == ["tool_result", "stream_chunk"]
            assert frames[0]["data"]["code"] == "CANCELLED"
            with pytest.raises(ConnectionClosed):
                await client.receive()
        assert await asyncio.to_thread(process.wait, PATIENCE) == 0


async def test_a_gateway_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    with serving(tmp_path, **ENVIRON) as (process, port, _):
        running = Gateway(None, port)  # type: ignore[arg-type]
        async with running.client() as client:
            session = await client.session("coding")
            await client.send("chat.send", session_id=session, content="Bash sleep 0.5; echo on")
            await client.until(is_type("tool_call"))
            process.send_signal(signal.SIGSTOP)
            await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED)
            await asyncio.sleep(1.0)
            process.send_signal(signal.SIGCONT)
            frames = await client.until(is_done)
            assert "on" in json.dumps(frames)
            assert "error" not in types(frames)


async def test_ids_of_ended_turns_are_not_kept_for_those_who_watch(tmp_path: Path) -> None:
    model = ScriptedModel(["An answer."] * 7)
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        for _ in range(6):
            await client.turn(session)
        await client.data("session.subscribe", session_id=session, after_seq=0)
        for _ in range(6):
            await client.until(is_done)
        await client.turn(session)
        assert set(running.service.channels.of(session)._ids) <= {None}


async def test_ids_of_requests_with_keys_are_kept_for_the_latest_ones_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.gateway.service._MAX_REQUEST_IDS", 3)
    model = ScriptedModel(["An answer."] * 6)
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        for number in range(6):
            await client.send("chat.send", session_id=session, content="Hello", request_id=f"key-{number}")
            await client.until(is_done)
        assert len(running.service._request_ids) == 3
