"""The database fails in the middle of a turn: what the client is told, and what is stored when it works again."""

import asyncio
import contextlib
import resource
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import Gateway, call, gateway, is_done, is_type, settings_for, types
from tests.gateway.outage import ANSWER, Held, check_outage, finished
from tests.support.disks import fill, small_disk
from toolgate.settings import Settings


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds the database."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@contextlib.contextmanager
def no_space(_path: Path) -> Iterator[None]:
    """No file can grow, as on a full disk: the limit of the process is reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Not a byte is left on the file system of the database."""
    fill(path.parent, 0)
    try:
        yield
    finally:
        (path.parent / "filler").unlink()


Fault = Callable[[Path], contextlib.AbstractContextManager[None]]
FAULTS: dict[str, tuple[Fault, str]] = {
    "locked": (locked, "locked by someone else"),
    "no space": (no_space, "cannot be"),
    "full disk": (full_disk, "the disk is full"),
}


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Fault, str]]:
    disk = small_disk(tmp_path, 2 << 20, 0) if request.param == "full disk" else contextlib.nullcontext()
    with disk:
        yield FAULTS[request.param]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer gives a locked database half a second instead of ten."""
    monkeypatch.setattr("toolgate.sessions.connections.WRITE_TIMEOUT", 0.5)


def _file(directory: Path) -> Path:
    return directory / "gateway.db"


async def test_a_turn_whose_answer_cannot_be_stored_ends_at_once_with_the_reason(
    tmp_path: Path, fault: tuple[Fault, str]
) -> None:
    make, reason = fault

    @contextlib.asynccontextmanager
    async def outage() -> AsyncIterator[None]:
        with make(_file(tmp_path)):
            yield

    await check_outage(settings_for(tmp_path), lambda _: outage(), reason)


async def test_a_database_that_becomes_read_only_in_the_middle_of_a_turn_is_said(tmp_path: Path) -> None:
    @contextlib.asynccontextmanager
    async def read_only(running: Gateway) -> AsyncIterator[None]:
        """SQLite itself refuses to write: nothing but a broken disk makes an open file read-only."""
        connection = running.service.sessions._db.driver._writer._connection  # type: ignore[attr-defined]
        connection.execute("PRAGMA query_only = ON")
        yield
        connection.execute("PRAGMA query_only = OFF")

    await check_outage(settings_for(tmp_path), read_only, "cannot be written to")


async def test_the_next_message_does_not_wait_for_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.agent.unstored._FIRST_WAIT", 600.0)
    monkeypatch.setattr("toolgate.agent.unstored._MAX_WAIT", 600.0)
    model = Held()
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        await client.send("chat.send", session_id=session, content="Hello")
        await model.reached.wait()
        with locked(_file(tmp_path)):
            model.free.set()
            await client.until(is_done)
            await asyncio.sleep(0.7)  # the first try in the background has failed
        frames = await client.turn(session, "Again")
        assert "error" not in types(frames)
        stored = await client.data("chat.history", session_id=session)
        assert [message["content"] for message in stored["messages"]] == ["Hello", ANSWER, "Again", ANSWER]


async def test_whoever_subscribes_during_the_outage_is_told_the_end_once(tmp_path: Path) -> None:
    model = Held()
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client, running.client() as late:
        session = await client.session()
        await client.data("session.subscribe", session_id=session, after_seq=0, details=True)
        await client.send("chat.send", session_id=session, content="Hello")
        await model.reached.wait()
        with locked(_file(tmp_path)):
            model.free.set()
            watched = await client.until(is_done)
            assert types(watched)[-2:] == ["error", "stream_chunk"]
            await late.data("session.subscribe", session_id=session, after_seq=0)
            told = await late.until(is_done)
            assert types(told)[-2:] == ["error", "stream_chunk"]
        rest = await client.until(is_type("turn_finished"))
        assert [frame for frame in rest if frame["type"] == "error" or is_done(frame)] == []
        assert rest[-1]["data"]["code"] == "STORE_ERROR"
        assert await client.silent()
        assert await late.silent() or not any(is_done(frame) for frame in late.waiting)


async def test_a_call_whose_end_cannot_be_stored_is_answered_in_the_transcript_later(tmp_path: Path) -> None:
    model = Held(call("current_time"))
    settings = settings_for(tmp_path)
    async with gateway(settings, model) as running, running.client() as client:
        session = await client.session()
        lock = locked(_file(tmp_path))
        original = running.service.registry.get("current_time")
        assert original is not None
        execute = original.execute

        async def slow(params: Any, context: Any) -> Any:
            lock.__enter__()
            return await execute(params, context)

        original.execute = slow  # type: ignore[method-assign]
        await client.send("chat.send", session_id=session, content="Hello")
        frames = await client.until(is_done)
        assert types(frames) == ["tool_call", "error", "stream_chunk"]
        lock.__exit__(None, None, None)
        original.execute = execute  # type: ignore[method-assign]
        await finished(running, session)
        messages = await running.service.sessions.messages(session)
        assert [message.role for message in messages] == ["user", "assistant", "tool"]
        model.free.set()
        assert "error" not in types(await client.turn(session, "Again"))


async def test_an_outage_longer_than_the_lease_does_not_change_the_reason(tmp_path: Path) -> None:
    settings = _with_lease(settings_for(tmp_path), 2.0)
    model = Held()
    async with gateway(settings, model) as running, running.client() as client:
        session = await client.session()
        await client.send("chat.send", session_id=session, content="Hello")
        await model.reached.wait()
        with locked(_file(tmp_path)):
            model.free.set()
            await client.until(is_done)
            await asyncio.sleep(2.2)  # the lease has ended
        running.service.closes_abandoned = True
        await running.service.close_abandoned()
        assert (await finished(running, session))["code"] == "STORE_ERROR"


def _with_lease(settings: Settings, seconds: float) -> Settings:
    return settings.model_copy(update={"agent": settings.agent.model_copy(update={"lease_seconds": seconds})})


async def test_a_database_that_was_deleted_in_the_middle_of_a_turn_is_said(tmp_path: Path) -> None:
    model = Held()
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session()
        await client.send("chat.send", session_id=session, content="Hello")
        await model.reached.wait()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{_file(tmp_path)}{suffix}").unlink(missing_ok=True)
        model.free.set()
        frames = await client.until(is_done)
        assert types(frames)[-2:] == ["error", "stream_chunk"]
        assert "removed or replaced" in frames[-2]["data"]["message"]
