"""Connections that are idle, half open or gone keep nobody out and leave no process."""

import asyncio
import contextlib
import os
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.gateway.kit import (
    PATIENCE,
    TOKEN,
    Gateway,
    call,
    gateway,
    is_done,
    is_type,
    settings_for,
    types,
)
from toolgate.testing import ScriptedModel


async def works(running: Gateway, token: str = TOKEN) -> None:
    """The gateway still serves an ordinary client."""
    async with running.client(token) as client:
        assert (await client.data("session.create"))["session_id"]


async def _until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


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
