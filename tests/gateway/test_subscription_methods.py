"""Subscriptions while the log cannot be read: the connection answers, and events come once and in order afterwards."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import PATIENCE, Client, Gateway, gateway, is_done, settings_for, text_of
from toolgate.errors import StoreError
from toolgate.protocol.ports import LoggedEvent
from toolgate.testing import ScriptedModel


class LogOutage:
    """The log of a gateway, which cannot be read after some more reads and until it is healed."""

    def __init__(self, running: Gateway) -> None:
        self._events = running.service.feed.events
        self._reads_left: int | None = 0
        self.failures = 0
        running.service.feed.events = self.events  # type: ignore[method-assign]

    async def events(self, session_id: str, after_seq: int = 0, *, limit: int = 1000) -> Sequence[LoggedEvent]:
        if self._reads_left == 0:
            self.failures += 1
            raise StoreError("The database is unavailable.")
        if self._reads_left is not None:
            self._reads_left -= 1
        return await self._events(session_id, after_seq, limit=limit)

    def begin(self, after_reads: int = 0) -> None:
        self._reads_left = after_reads

    def heal(self) -> None:
        self._reads_left = None

    async def more_failures(self) -> None:
        """Wait until the log was read again, in vain."""
        goal = self.failures + 2
        await until(lambda: self.failures >= goal)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def retries() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "toolgate-subscription"]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.gateway.subscription_methods._RETRY_SECONDS", 0.02)


async def _unread(running: Gateway, client: Client, **params: Any) -> tuple[str, LogOutage]:
    """A session with one turn, to which the client subscribes: the log fails right after the answer."""
    session = await client.session()
    await client.turn(session, "Hello")
    outage = LogOutage(running)
    answer = await client.data("session.subscribe", session_id=session, after_seq=0, **params)
    assert answer["session_id"] == session
    await until(lambda: outage.failures)
    return session, outage


async def test_a_connection_answers_while_the_log_of_its_subscription_cannot_be_read(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running, running.client() as client:
        session, outage = await _unread(running, client)
        async with asyncio.timeout(10):
            history = await client.data("chat.history", session_id=session)
        await outage.more_failures()

        assert [message["content"] for message in history["messages"]] == ["Hello", "One."]
        assert client.waiting == []


async def test_all_events_come_once_and_in_order_when_the_log_can_be_read_again(tmp_path: Path) -> None:
    model = ScriptedModel(["One.", "Two."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client, running.client() as other:
        session, outage = await _unread(running, client, details=True)
        await client.send("chat.send", session_id=session, content="Again")  # while the log cannot be read
        await until(lambda: len(model.requests) == 2)
        outage.heal()
        frames = [*await client.until(is_done), *await client.until(is_done)]
        await other.data("session.subscribe", session_id=session, after_seq=0, details=True)
        expected = [*await other.until(is_done), *await other.until(is_done)]

        assert text_of(frames) == "One.Two."
        assert _logged(frames) == _logged(expected)
        assert await client.silent()
        assert retries() == []


def _logged(frames: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """The type and the number of each frame that is an event of the log."""
    return [(frame["type"], frame["seq"]) for frame in frames if "seq" in frame]


async def test_an_outage_in_the_middle_of_the_replay_repeats_no_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.gateway.channel._BATCH", 2)
    async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running, running.client() as client:
        session = await client.session()
        await client.turn(session, "Hello")
        outage = LogOutage(running)
        outage.begin(after_reads=2)
        await client.data("session.subscribe", session_id=session, after_seq=0, details=True)
        await outage.more_failures()
        outage.heal()
        frames = await client.until(is_done)
        numbers = [seq for _, seq in _logged(frames)]

        assert text_of(frames) == "One."
        assert numbers == sorted(set(numbers))
        assert await client.silent()


async def test_the_end_of_a_repeated_request_comes_after_the_events_that_were_missed(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running, running.client() as client:
        session = await client.session()
        message = {"session_id": session, "content": "Hello", "request_id": "first"}
        await client.send("chat.send", **message)
        await client.until(is_done)
        outage = LogOutage(running)
        await client.data("session.subscribe", session_id=session, after_seq=0)
        repeated = await client.send("chat.send", **message)
        await client.data("chat.history", session_id=session)  # the request before it was handled
        early = client.waiting[:]
        outage.heal()
        frames = [*await client.until(is_done), *await client.until(is_done)]

        assert early == []
        assert text_of(frames) == "One."
        assert [frame["id"] for frame in frames if is_done(frame)][-1] == repeated


async def test_a_client_that_unsubscribes_gets_nothing_when_the_log_can_be_read_again(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running, running.client() as client:
        session, outage = await _unread(running, client)
        await client.data("session.unsubscribe", session_id=session)
        await until(lambda: not retries())
        outage.heal()

        assert await client.silent()
        assert len(running.service.channels) == 0


async def test_a_client_that_subscribes_again_gets_each_event_once(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running, running.client() as client:
        session, outage = await _unread(running, client)
        await client.data("session.subscribe", session_id=session, after_seq=0)
        outage.heal()
        frames = await client.until(is_done)

        assert text_of(frames) == "One."
        assert await client.silent()


async def test_nothing_is_retried_for_a_client_that_has_disconnected(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running:
        async with running.client() as client:
            await _unread(running, client)
            assert len(retries()) == 1
        await until(lambda: not running.service.connections)
        await until(lambda: not retries())

        assert len(running.service.channels) == 0


async def test_a_gateway_that_shuts_down_retries_nothing(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as clients:
        async with gateway(settings_for(tmp_path), ScriptedModel(["One."])) as running:
            await _unread(running, await clients.enter_async_context(running.client()))

        assert retries() == []


async def test_a_client_is_told_that_its_session_was_deleted_meanwhile(tmp_path: Path) -> None:
    model = ScriptedModel(["One."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client, running.client() as other:
        session, outage = await _unread(running, client, details=True)
        await other.data("session.delete", session_id=session)
        frame = await client.receive()
        outage.heal()

        assert (frame["type"], frame["session_id"]) == ("session_deleted", session)
        assert await client.silent()
        assert len(running.service.channels) == 0
