"""Leases: no holder that slept, crashed or changed its clock writes to a session of another."""

import asyncio
import itertools
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.databases import coding
from tests.support.forks import Child, Say
from toolgate.sessions import (
    Database,
    SessionFenced,
    SessionManager,
)

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


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


async def test_d02_a_holder_that_slept_through_its_lease_is_fenced(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)

    async def hold(say: Say) -> None:
        manager = manager_of(path)
        lease = await manager.try_claim(session, ttl=0.3)
        await manager.append_message(session, "user", "mine", lease=lease)
        say("claimed")
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            await manager.append_message(session, "user", "late", lease=lease)
        except SessionFenced:
            say("fenced")

    child = Child(hold)
    assert child.line() == "claimed"
    manager = manager_of(path)
    early = await manager.try_claim(session)
    await asyncio.sleep(0.35)
    lease = await manager.try_claim(session)
    assert lease is not None
    await manager.append_message(session, "user", "taken over", lease=lease)
    child.signal(signal.SIGCONT)
    ended = child.end()
    said = [message.content for message in await manager.messages(session)]
    await manager._db.close()

    assert (early, lease.fence) == (None, 2)
    assert ended == (0, ["fenced"])
    assert said == ["mine", "taken over"]


async def test_d03_a_crash_gives_the_session_back_and_the_fence_still_rises(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    fences = []

    async def crash(say: Say) -> None:
        lease = await manager_of(path).try_claim(session, ttl=3600)
        say(str(lease.fence) if lease else "none")
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(3):
        child = Child(crash)
        fences += [int(child.line())]
        child.end()
    manager = manager_of(path)
    lease = await manager.try_claim(session)
    await manager._db.close()

    assert lease is not None
    assert [*fences, lease.fence] == [1, 2, 3, 4]


async def test_d04_another_process_can_neither_renew_nor_release(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    manager = manager_of(path)
    lease = await manager.try_claim(session)
    assert lease is not None

    async def meddle(say: Say) -> None:
        stranger = manager_of(path)
        forged = lease.model_copy(update={"owner": "someone"})
        say(str(await stranger.release(forged)))
        try:
            await stranger.renew(forged)
        except SessionFenced:
            say("fenced")
        say(str(await stranger.try_claim(session)))

    ended = Child(meddle).end()
    await manager.append_message(session, "user", "still mine", lease=lease)
    await manager._db.close()

    assert ended == (0, ["False", "fenced", "None"])


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
async def test_d05_leases_do_not_follow_the_wall_clock(
    tmp_path: Path, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    long, short = await made(path, 2)
    manager = manager_of(path)
    held, brief = await manager.try_claim(long, ttl=60), await manager.try_claim(short, ttl=0.2)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)

    early = await manager.try_claim(long), await manager.try_claim(short)
    await asyncio.sleep(0.25)
    late = await manager.try_claim(long), await manager.try_claim(short)
    await manager._db.close()

    assert held is not None
    assert brief is not None
    assert early == (None, None)
    assert late[0] is None
    assert late[1] is not None


async def test_d05_a_lease_from_before_a_restart_of_the_machine_is_over(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    manager = manager_of(path)
    await manager.try_claim(session, ttl=60)
    # the clock starts again with the machine: what was granted in its future was granted before
    await manager._db.write(
        lambda tx: tx.run("UPDATE sessions SET lease_from = lease_from + 1e6, lease_until = lease_until + 1e6")
    )
    again = await manager.try_claim(session)
    await manager._db.close()

    assert again is not None


async def test_d12_two_turns_of_one_session_never_interleave(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    managers = [manager_of(path) for _ in range(2)]

    async def turn(manager: SessionManager, name: str) -> bool:
        lease = await manager.try_claim(session)
        if lease is None:
            return False
        started = await manager.start_turn(lease, name)
        for _ in range(5):
            await manager.append_message(session, "assistant", name, lease=lease, turn_id=started.id)
        await manager.finish_turn(lease, started.id, "done")
        return await manager.release(lease)

    ran = await asyncio.gather(*(turn(managers[number % 2], str(number)) for number in range(20)))
    said = [message.content for message in await managers[0].messages(session)]
    for manager in managers:
        await manager._db.close()

    groups = [name for name, _ in itertools.groupby(said)]
    assert sorted(groups, key=int) == [str(number) for number, did in enumerate(ran) if did]
    assert said == [name for name in groups for _ in range(6)]
    assert False in ran
