"""Faults in the middle of a turn: the turn ends with its true reason, and what was acknowledged stays."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import OPEN, Stage, call
from tests.kit import ProbeTool
from tests.models.conftest import Provider, provider
from tests.models.kit import HEAD, of
from tests.models.test_openai import DONE, chunk
from tests.support.scripted_server import serving
from toolgate.agent import TextChunk, TurnDone, TurnFailed
from toolgate.models import OpenAIModel
from toolgate.sessions import Database, SessionManager, StoreError, connections

__all__ = ["provider"]


async def _stage(tmp_path: Path, fault: Callable[[Path], None], answer: str = "Seen.") -> tuple[Stage, Database, Path]:
    """A session on a file; the fault happens between the two answers of its first turn."""
    path = tmp_path / "data" / "a.db"
    db = Database(f"sqlite:///{path}")
    await db.migrate()

    async def strike() -> None:
        fault(path)

    turns = [["Let me see. ", call("probe")], [strike, answer], *["Again."] * 20]
    return await Stage.set(turns, ProbeTool(), sessions=SessionManager(db, OPEN)), db, path


def _delete(path: Path) -> None:
    for name in (path, f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)


def _cut(path: Path) -> None:
    os.truncate(path, 4096)


def _replace(path: Path) -> None:
    path.with_name("other").write_bytes(path.read_bytes())
    path.with_name("other").replace(path)


@pytest.mark.parametrize("fault", [_delete, _replace])
async def test_a_database_that_is_gone_ends_the_turn_with_that_reason(
    tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    stage, db, _ = await _stage(tmp_path, fault)
    events = await asyncio.wait_for(stage.say(), 60)
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, "removed or replaced" in events[-1].message) == ("STORE_ERROR", True)
    assert "".join(event.content for event in events if isinstance(event, TextChunk)) == "Let me see. Seen."
    await stage.loop.aclose()
    await db.close()


async def test_a_database_that_was_cut_ends_the_turn_and_is_refused_from_then_on(tmp_path: Path) -> None:
    stage, db, path = await _stage(tmp_path, _cut)
    last = (await asyncio.wait_for(stage.say(), 60))[-1]
    assert isinstance(last, TurnFailed)
    assert "is damaged" in last.message
    with pytest.raises(StoreError, match="is damaged"):
        await stage.say()
    await stage.loop.aclose()
    await db.close()
    again = Database(f"sqlite:///{path}")
    with pytest.raises(StoreError, match="is damaged"):
        await again.migrate()
    await again.close()


async def test_a_locked_database_ends_the_turn_and_the_next_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WRITE_TIMEOUT", 0.2)
    held: list[sqlite3.Connection] = []

    def lock(path: Path) -> None:
        held.append(sqlite3.connect(path, isolation_level=None))
        held[0].execute("BEGIN EXCLUSIVE")
        asyncio.get_running_loop().call_later(3.0, held[0].close)

    stage, db, _ = await _stage(tmp_path, lock)
    events = await asyncio.wait_for(stage.say(), 60)
    assert isinstance(events[-1], TurnFailed)
    assert "locked" in events[-1].message
    held[0].close()
    await _works_again(stage)
    await db.close()


async def _works_again(stage: Stage) -> None:
    """The next turn works, and the transcript is valid."""
    async with asyncio.timeout(60):
        while not isinstance((await stage.say("again"))[-1], TurnDone):
            await asyncio.sleep(0.05)
    messages = await stage.transcript()
    calls = [one["id"] for message in messages for one in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    await stage.loop.aclose()


async def test_a_full_database_ends_the_turn_and_the_next_one_works(tmp_path: Path) -> None:
    """SQLite's own limit on pages answers like a disk that is full."""
    writers: list[Any] = []

    def limit(pages: int) -> None:
        writers[0]._connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    stage, db, _ = await _stage(tmp_path, lambda _: limit(1), answer="Seen. " * 20_000)
    writers.append(db.driver._writer)  # type: ignore[attr-defined]  # it is SQLite
    events = await asyncio.wait_for(stage.say(), 60)
    assert isinstance(events[-1], TurnFailed)
    assert "disk is full" in events[-1].message
    limit(1_000_000)
    await _works_again(stage)
    await db.close()


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
async def test_a_clock_that_jumps_in_a_turn_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    usual = time.time
    stage, db, _ = await _stage(tmp_path, lambda _: monkeypatch.setattr(time, "time", lambda: usual() + jump))
    for _ in range(2):
        assert isinstance((await stage.say())[-1], TurnDone)
    assert [message["role"] for message in await stage.transcript()][:4] == ["user", "assistant", "tool", "assistant"]
    await stage.loop.aclose()
    await db.close()


def _very_many_pieces(_: Provider) -> Iterator[bytes]:
    yield HEAD
    yield from of(50_000, json_event(content="x" * 10))
    yield json_event("stop") + DONE.encode()


def _ten_megabytes(_: Provider) -> Iterator[bytes]:
    yield HEAD
    yield from [json_event(content="x" * 65_536)] * 160


def _hang(_: Provider) -> Iterator[bytes | float]:
    yield HEAD
    yield 30.0


def _drop(_: Provider) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\ndata"


def _nothing(_: Provider) -> Iterator[bytes]:
    return iter(())


def json_event(reason: str | None = None, **delta: Any) -> bytes:
    return f"data: {json.dumps(chunk(reason, **delta))}\n\n".encode()


@pytest.mark.parametrize(
    ("server", "end"),
    [
        (_very_many_pieces, "done"),
        (_ten_megabytes, "done"),
        (_hang, "MODEL_UNAVAILABLE"),
        (_drop, "MODEL_UNAVAILABLE"),
        (_nothing, "MODEL_UNAVAILABLE"),
    ],
)
async def test_a_model_server_that_misbehaves_ends_the_turn_and_the_next_one_works(
    provider: Provider, server: Callable[[Provider], Iterator[bytes | float]], end: str
) -> None:
    model = OpenAIModel("m1", api_key="k", base_url=provider.url, timeout=2 if server is _hang else 60)
    stage = await Stage.set(model, agent={"retries": 1})
    provider.answers += [server(provider) for _ in range(1 if end == "done" else 2)]
    last = (await asyncio.wait_for(stage.say(), 60))[-1]
    assert (last.code if isinstance(last, TurnFailed) else "done") == end
    assert sum(len(message["content"]) for message in await stage.transcript()) < 1_100_000
    for answer in (["A summary of it."] if end == "done" else []) + ["Hello"]:  # so much text is summarised first
        provider.streams(chunk(content=answer), chunk("stop"), DONE)
    assert isinstance((await stage.say())[-1], TurnDone)
    await stage.close()
    await model.aclose()


def test_a_program_that_was_stopped_goes_on_with_its_turn(tmp_path: Path) -> None:
    with serving([["One ", 1.5, "two."]]) as server:
        environ = {**os.environ, **server.environment, "TOOLGATE_DATABASE_URL": f"sqlite:///{tmp_path}/a.db"}
        command = [sys.executable, "-m", "toolgate", "chat", "--print", "go"]
        process = subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True)
        assert server.asked.wait(60)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(2.5)  # longer than the pause of the server: everything else has come meanwhile
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=60)
    assert (process.returncode, "One two." in said) == (0, True)
