"""The thread that writes to SQLite: many units in one commit, and none of them harms another."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate.protocol.calls import ToolCall
from toolgate.sessions import Database, SessionBusy, SessionFenced, SessionManager, SessionNotFound, StoreError
from toolgate.sessions.driver import Transaction
from toolgate.sessions.writer import Writer
from toolgate.settings import SessionSettings


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[SessionManager]:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    yield SessionManager(db, SessionSettings())
    await db.close()


async def test_what_comes_together_is_written_together_and_in_order(
    manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await manager.create(title="1"), await manager.create(title="2")
    texts = [(session.id, str(number)) for number in range(50) for session in (one, two)]
    commits: list[int] = []
    real = Writer._commit

    def counted(writer: Writer, jobs: list[object]) -> None:
        commits.append(len(jobs))
        real(writer, jobs)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "_commit", counted)
    await asyncio.gather(*(manager.append_message(session, "user", text) for session, text in texts))

    for session in (one, two):
        assert [message.content for message in await manager.messages(session.id)] == [str(n) for n in range(50)]
        assert [event.seq for event in await manager.events(session.id)] == list(range(1, 51))
    assert commits == [100]


async def test_all_kinds_of_messages_can_come_together(manager: SessionManager) -> None:
    plain, leased, fresh = await manager.create(title="p"), await manager.create(title="l"), await manager.create()
    lease = await manager.try_claim(leased.id)
    call = ToolCall(id="c", name="t", arguments="{}")

    numbers = await asyncio.gather(
        manager.append_message(plain.id, "user", "1"),
        manager.append_message(leased.id, "user", "1", lease=lease),
        manager.append_message(leased.id, "assistant", "2", lease=lease, tool_calls=[call]),
        manager.append_message(leased.id, "tool", "3", lease=lease, tool_call_id="c"),
        manager.append_message(fresh.id, "user", "a name"),
        manager.append_message(plain.id, "assistant", "2"),
        manager.append_message(leased.id, "user", "4", lease=lease),
    )

    assert numbers == [1, 1, 2, 4, 1, 2, 5]  # the call of the second is an event, too
    assert [message.content for message in await manager.messages(leased.id)] == ["1", "2", "3", "4"]
    assert (await manager.get(fresh.id)).title == "a name"


async def test_one_that_fails_does_not_harm_those_beside_it(manager: SessionManager) -> None:
    session, other = await manager.create(title="x"), await manager.create(title="y")
    lease = await manager.try_claim(session.id)
    assert lease is not None
    stale = lease.model_copy(update={"owner": "someone"})

    def broken(tx: Transaction) -> None:
        tx.run("DELETE FROM messages")
        tx.run("this is no SQL")

    outcomes = await asyncio.gather(
        manager.append_message(session.id, "user", "1", lease=lease),
        manager.append_message(session.id, "user", "no", lease=stale),
        manager._db.write(broken),
        manager.append_message("nobody", "user", "no"),
        manager.append_message(other.id, "user", "1"),
        manager.append_message(session.id, "user", "2", lease=lease),
        return_exceptions=True,
    )

    assert [outcome if isinstance(outcome, int) else type(outcome) for outcome in outcomes] == [
        1,
        SessionFenced,
        StoreError,
        SessionNotFound,
        1,
        2,
    ]
    assert [message.content for message in await manager.messages(session.id)] == ["1", "2"]


@pytest.mark.parametrize("change", [{"fence": 0}, {"fence": 2}, {"owner": "someone"}, {"session_id": "other"}, None])
async def test_a_stale_lease_is_refused_among_many(manager: SessionManager, change: dict[str, object] | None) -> None:
    session = await manager.create(title="x")
    lease = await manager.try_claim(session.id)
    assert lease is not None
    wrong = None if change is None else lease.model_copy(update=change)

    outcomes = await asyncio.gather(
        *(manager.append_message(session.id, "user", str(n), lease=wrong if n == 2 else lease) for n in range(4)),
        return_exceptions=True,
    )

    refused = SessionBusy if change is None else SessionFenced
    assert [outcome if isinstance(outcome, int) else type(outcome) for outcome in outcomes] == [1, 2, refused, 3]
    assert [message.content for message in await manager.messages(session.id)] == ["0", "1", "3"]


async def test_without_a_lease_many_may_write_once_it_has_run_out(manager: SessionManager) -> None:
    session = await manager.create(title="x")
    await manager.try_claim(session.id, ttl=0.01)
    await asyncio.sleep(0.02)

    numbers = await asyncio.gather(*(manager.append_message(session.id, "user", str(n)) for n in range(3)))

    assert numbers == [1, 2, 3]


async def test_whoever_stops_waiting_before_it_begins_writes_nothing(manager: SessionManager) -> None:
    session = await manager.create(title="x")
    waiting = asyncio.create_task(manager.append_message(session.id, "user", "never"))
    asyncio.get_running_loop().call_soon(waiting.cancel)  # after it has asked, before the writer is told
    await asyncio.gather(waiting, return_exceptions=True)
    await manager.append_message(session.id, "user", "this")

    assert [message.content for message in await manager.messages(session.id)] == ["this"]


async def test_closing_waits_for_what_was_asked_for(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, SessionSettings())
    session = await manager.create(title="x")
    writing = [asyncio.create_task(manager.append_message(session.id, "user", str(n))) for n in range(20)]
    await asyncio.sleep(0)
    await db.close()
    numbers = await asyncio.gather(*writing)
    with pytest.raises(StoreError, match="closed"):
        await manager.append_message(session.id, "user", "too late")

    assert numbers == list(range(1, 21))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db"]


def test_a_database_serves_one_loop_after_the_other(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    manager = SessionManager(db, SessionSettings())
    asyncio.run(db.migrate())
    session = asyncio.run(manager.create())
    asyncio.run(manager.append_message(session.id, "user", "1"))
    said = asyncio.run(manager.messages(session.id))
    asyncio.run(db.close())

    assert [message.content for message in said] == ["1"]


async def test_a_writer_without_room_for_its_thread_says_so_and_the_next_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, SessionSettings())
    real, failures = threading.Thread.start, [RuntimeError("can't start new thread")]

    def starved(thread: threading.Thread) -> None:
        if failures and thread.name == "toolgate-writer":
            raise failures.pop()
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", starved)
    with pytest.raises((RuntimeError, StoreError)):
        await asyncio.wait_for(manager.create(), 60)

    assert (await manager.create()).id
    await db.close()
