"""The end of a gateway: those who watch hear of the end of their turns first, and nobody waits for nothing."""

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import PATIENCE, Client, Gateway, gateway, is_done, settings_for
from toolgate.gateway import service as serving
from toolgate.testing import ScriptedModel

FOREVER = 3600.0


def hold_back(running: Gateway) -> asyncio.Event:
    """Nothing that is written to the log is told before this is set."""
    told, feed = asyncio.Event(), running.service.feed
    follow = feed.follow

    async def later(session_id: str, after_seq: int = 0) -> AsyncGenerator[Any, None]:
        async for event in follow(session_id, after_seq):
            await told.wait()
            yield event

    feed.follow = later  # type: ignore[method-assign]
    return told


def stop_reading(running: Gateway) -> asyncio.Event:
    """Nothing is sent to the client before this is set."""
    reads = asyncio.Event()
    (connection,) = running.service.connections
    send = connection.outbox._send

    async def later(message: MutableMapping[str, Any]) -> None:
        await reads.wait()
        await send(message)

    connection.outbox._send = later
    return reads


async def turn_ends(running: Gateway, client: Client) -> str:
    """A turn of which the client hears nothing, although its end is in the log."""
    session = await client.session()
    await client.send("chat.send", session_id=session, content="Hello")
    async with asyncio.timeout(PATIENCE):
        while not await running.service.sessions.turns(session) or running.service.running:
            await asyncio.sleep(0.01)
    return session


async def test_it_ends_when_those_who_watch_have_heard_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "_FLUSH_SECONDS", FOREVER)
    async with gateway(settings_for(tmp_path), ScriptedModel(["Good bye."])) as running:
        told = hold_back(running)
        async with running.client() as client:
            await turn_ends(running, client)
            reads = stop_reading(running)
            draining = asyncio.create_task(running.service.drain())
            for obstacle in (told, reads):
                assert not (await asyncio.wait({draining}, timeout=0.2))[0]
                obstacle.set()
            await asyncio.wait_for(draining, PATIENCE)
            for connection in running.service.connections:
                connection.outbox.close(1001, "the end")  # drops what still waits
            assert is_done((await client.until(is_done))[-1])


async def test_it_ends_at_once_when_there_is_nothing_to_hear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_FLUSH_SECONDS", FOREVER)
    async with gateway(settings_for(tmp_path), ScriptedModel(["Hello."])) as running, running.client() as client:
        session = await client.session()
        await client.data("session.subscribe", session_id=session)
        await client.turn(session)
        await asyncio.wait_for(running.service.drain(), PATIENCE)


async def test_who_cannot_be_told_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["Hello."])) as running:
        hold_back(running)
        async with running.client() as client:
            await turn_ends(running, client)
            monkeypatch.setattr(serving, "_FLUSH_SECONDS", 0.1)
            await asyncio.wait_for(running.service.drain(), PATIENCE)
    assert "watchers_left_behind" in caplog.text


async def test_a_log_that_cannot_be_read_keeps_no_gateway_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serving, "_FLUSH_SECONDS", FOREVER)
    async with gateway(settings_for(tmp_path)) as running, running.client() as client:
        await client.data("session.subscribe", session_id=await client.session())
        await running.app.state.database.close()
        await asyncio.wait_for(running.service.drain(), PATIENCE)
    assert "watchers_left_behind" in caplog.text
