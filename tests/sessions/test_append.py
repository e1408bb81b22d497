"""What was acknowledged is there after a kill, and many processes write side by side."""

import asyncio
import functools
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.support.databases import coding, rows
from tests.support.forks import Child, Say
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.record import CallRecord
from toolgate.sessions import (
    Database,
    Message,
    SessionManager,
    connections,
)
from toolgate.sessions.transcript import NO_RESULT

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
KILLS = max(200, 50 * TORTURE)

pytestmark = pytest.mark.timeout(90 + 15 * TORTURE)


def manager_of(path: Path) -> SessionManager:
    return SessionManager(Database(f"sqlite:///{path}"), coding())


async def made(path: Path, sessions: int = 1) -> list[str]:
    """A database with some sessions in it, closed again."""
    manager = manager_of(path)
    await manager._db.migrate()
    ids = [(await manager.create()).id for _ in range(sessions)]
    await manager._db.close()
    return ids


@pytest.mark.torture
@pytest.mark.timeout(300 + 2 * TORTURE)
async def test_d01_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    sessions = await made(path, 4)
    acknowledged: dict[str, list[int]] = {session: [] for session in sessions}
    chance = random.Random(1)

    async def write(say: Say) -> None:
        manager = manager_of(path)

        async def endlessly(session: str) -> None:
            while True:
                say(f"{session} {await manager.append_message(session, 'user', 'x' * chance.randrange(3_000))}")

        await asyncio.gather(*(endlessly(session) for session in sessions))

    for _ in range(KILLS):
        child = Child(write)
        lines = [child.line()]
        await asyncio.sleep(chance.uniform(0, 0.02))
        for line in lines + child.kill():
            session, _, seq = line.partition(" ")
            if seq.isdecimal():
                acknowledged[session].append(int(seq))
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    for session in sessions:
        stored = [seq for (seq,) in rows(path, "SELECT seq FROM events WHERE session_id = ? ORDER BY seq", session)]
        assert stored == list(range(1, len(stored) + 1))
        assert set(acknowledged[session]) <= set(stored)
        assert rows(path, "SELECT seq FROM messages WHERE session_id = ? ORDER BY seq", session) == [
            (seq,) for seq in stored
        ]
    assert sum(map(len, acknowledged.values())) > 0


@pytest.mark.torture
async def test_d06_eight_processes_write_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    shared, *own = await made(path, 9)
    each = 40 * TORTURE

    async def write(session: str, say: Say) -> None:
        manager = manager_of(path)
        longest = 0.0
        for number in range(each):
            begin = time.monotonic()
            await manager.append_message(shared if number % 2 else session, "user", str(number))
            longest = max(longest, time.monotonic() - begin)
        await manager._db.close()
        say(str(longest))

    children = [Child(functools.partial(write, session)) for session in own]
    ended = [child.end() for child in children]

    assert [code for code, _ in ended] == [0] * 8
    assert max(float(lines[0]) for _, lines in ended) < connections.WRITE_TIMEOUT
    assert rows(path, "SELECT COUNT(*) FROM messages") == [(8 * each,)]
    assert rows(path, "SELECT MIN(seq), MAX(seq), COUNT(*) FROM events WHERE session_id = ?", shared) == [
        (1, 4 * each, 4 * each)
    ]


async def test_d11_a_crash_between_call_and_result_is_closed_as_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)

    async def crash(say: Say) -> None:
        manager = manager_of(path)
        lease = await manager.try_claim(session, ttl=3600)
        assert lease is not None
        turn = await manager.start_turn(lease, "remove it")
        calls = [ToolCall(id=name, name="Bash", arguments="{}") for name in ("1", "2")]
        await manager.append_message(session, "assistant", "", lease=lease, turn_id=turn.id, tool_calls=calls)
        record = CallRecord(kind="started", session_id=session, call_id="1", tool_name="Bash")
        await manager.recorder(lease, turn.id).record(record)
        os.kill(os.getpid(), signal.SIGKILL)

    assert Child(crash).end()[0] == -signal.SIGKILL
    manager = manager_of(path)
    before = await manager.messages(session)
    lease = await manager.try_claim(session)
    assert lease is not None
    await manager.start_turn(lease, "and now?")
    after = await manager.messages(session)
    calls = {call.call_id: call.state for call in await manager.calls(session)}
    turns = [turn.status for turn in await manager.turns(session)]
    await manager._db.close()

    assert [(message.role, message.tool_call_id, message.content) for message in before[2:]] == [
        ("tool", "1", NO_RESULT),
        ("tool", "2", NO_RESULT),
    ]
    assert after == [*before, Message(role="user", content="and now?")]
    assert calls == {"1": "unknown", "2": "finished"}
    assert turns == ["interrupted", "running"]
