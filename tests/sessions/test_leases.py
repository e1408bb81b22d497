"""Leases: no holder that slept, crashed or changed its clock writes to a session of another."""

import asyncio
import contextlib
import itertools
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import coding
from tests.support.forks import Child, Say
from toolgate.sessions import (
    Database,
    Lease,
    Message,
    SessionBusy,
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


async def until_claimed(manager: SessionManager, session: str) -> Lease:
    """The lease, as soon as the one before has ended."""
    while (lease := await manager.try_claim(session)) is None:
        await asyncio.sleep(0.01)
    return lease


async def test_d02_a_holder_that_slept_through_its_lease_is_fenced(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)

    async def hold(say: Say) -> None:
        manager = manager_of(path)
        lease = await manager.try_claim(session, ttl=3600)
        assert lease is not None
        await manager.append_message(session, "user", "mine", lease=lease)
        say("claimed")
        os.kill(os.getpid(), signal.SIGSTOP)
        lease = await manager.renew(lease, ttl=0.1)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            await manager.append_message(session, "user", "late", lease=lease)
        except SessionFenced:
            say("fenced")

    child = Child(hold)
    assert child.line() == "claimed"
    manager = manager_of(path)
    await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WSTOPPED)
    early = await manager.try_claim(session)
    child.signal(signal.SIGCONT)
    lease = await until_claimed(manager, session)
    await asyncio.to_thread(os.waitid, os.P_PID, child.pid, os.WSTOPPED)
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
    held, brief = await manager.try_claim(long, ttl=3600), await manager.try_claim(short, ttl=3600)
    assert brief is not None
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)

    early = await manager.try_claim(long), await manager.try_claim(short)
    await manager.renew(brief, ttl=0.1)
    await until_claimed(manager, short)
    late = await manager.try_claim(long)
    await manager._db.close()

    assert held is not None
    assert early == (None, None)
    assert late is None


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


def said(role: Any, content: str, **rest: Any) -> Message:
    return Message(role=role, content=content, **rest)


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


async def test_a_session_has_one_owner(store: SessionManager) -> None:
    lease = await claimed(store)

    assert await store.try_claim(lease.session_id) is None


async def test_only_one_of_many_gets_the_session(store: SessionManager) -> None:
    session = await store.create()

    claims = await asyncio.gather(*(store.try_claim(session.id) for _ in range(20)))

    assert sum(lease is not None for lease in claims) == 1


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf")])
async def test_d05_no_lease_lasts_for_ever(store: SessionManager, ttl: float) -> None:
    session = await store.create()

    with pytest.raises(ValueError, match="ttl must be a finite number"):
        await store.try_claim(session.id, ttl)


async def test_d03_the_fence_only_rises(store: SessionManager) -> None:
    session = await store.create()
    fences = []
    for ttl in (300, 0.001, 300):
        lease = await store.try_claim(session.id, ttl)
        assert lease is not None
        fences.append(lease.fence)
        if ttl == 300:
            await store.release(lease)
        else:
            await asyncio.sleep(0.01)

    assert fences == [1, 2, 3]


async def test_a_lease_that_ran_out_can_be_taken_over_and_its_writes_are_refused(store: SessionManager) -> None:
    session = await store.create()
    slow = await store.try_claim(session.id, 0.001)
    await asyncio.sleep(0.01)
    quick = await store.try_claim(session.id)
    assert slow is not None
    assert quick is not None

    with pytest.raises(SessionFenced):
        await store.append_message(session.id, "user", "late", lease=slow)
    await store.append_message(session.id, "user", "in time", lease=quick)

    assert await store.messages(session.id) == [said("user", "in time")]


async def test_d04_an_old_lease_renews_nothing_and_releases_nothing(store: SessionManager) -> None:
    session = await store.create()
    old = await store.try_claim(session.id)
    assert old is not None
    await store.release(old)
    new = await store.try_claim(session.id)
    assert new is not None
    strangers = [old, new.model_copy(update={"owner": "stranger"}), new.model_copy(update={"fence": new.fence + 1})]

    for stranger in strangers:
        with pytest.raises(SessionFenced):
            await store.renew(stranger)
        assert await store.release(stranger) is False

    assert await store.try_claim(session.id) is None
    await store.append_message(session.id, "user", "still mine", lease=new)
    assert await store.release(new) is True


async def test_a_renewed_lease_lasts_longer(store: SessionManager) -> None:
    session = await store.create()
    lease = await store.try_claim(session.id, 0.2)
    assert lease is not None

    renewed = await store.renew(lease, 300)
    await asyncio.sleep(0.25)

    assert (renewed.owner, renewed.fence) == (lease.owner, lease.fence)
    assert renewed.expires_at > lease.expires_at
    assert await store.try_claim(session.id) is None


async def test_whoever_has_no_lease_waits(store: SessionManager) -> None:
    lease = await claimed(store)

    with pytest.raises(SessionBusy):
        await store.append_message(lease.session_id, "user", "me too")
    await store.release(lease)
    await store.append_message(lease.session_id, "user", "now")

    assert await store.messages(lease.session_id) == [said("user", "now")]


async def test_a_lease_opens_no_other_session(store: SessionManager) -> None:
    lease, other = await claimed(store), await store.create()

    with pytest.raises(SessionFenced):
        await store.append_message(other.id, "user", "x", lease=lease)


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
async def test_a_lease_needs_time(store: SessionManager, ttl: float) -> None:
    session = await store.create()

    with pytest.raises(ValueError, match="ttl"):
        await store.try_claim(session.id, ttl)


async def test_a_cancelled_claim_leaves_no_lease(store: SessionManager) -> None:
    session = await store.create()
    claiming = asyncio.create_task(store.try_claim(session.id))
    await asyncio.sleep(0)
    claiming.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        finished = await claiming
        assert finished is not None
        await store.release(finished)

    assert await store.try_claim(session.id) is not None
