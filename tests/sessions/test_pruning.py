"""Removing sessions that nobody has used for long, on every database."""

import time
from pathlib import Path

import pytest

from toolgate import ToolCall
from toolgate.errors import SessionBusy, SessionNotFound, StoreError
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings

YEAR = 365 * 86_400.0
TABLES = ("events", "messages", "turns", "tool_calls", "approvals", "todos", "shells", "outputs", "dispatches")


@pytest.fixture
def manager(db: Database) -> SessionManager:
    return SessionManager(db, SessionSettings(coding_enabled=True))


async def used(manager: SessionManager, project: str, *, parent: str | None = None) -> str:
    """A session with a turn in which everything happens that is kept."""
    session = await manager.create("coding", project=project, parent_id=parent)
    lease = await manager.try_claim(session.id)
    assert lease is not None
    turn = await manager.start_turn(lease, "hello")
    call = ToolCall(id="c1", name="Bash", arguments="{}")
    await manager.append_message(session.id, "assistant", "", tool_calls=[call], lease=lease, turn_id=turn.id)
    await manager.todos(lease).replace([{"content": "x", "status": "pending"}])
    await manager.finish_turn(lease, turn.id, "done")
    await manager.release(lease)
    return session.id


async def rows(db: Database, table: str, session_id: str) -> int:
    found = await db.read(lambda tx: tx.row(f"SELECT COUNT(*) FROM {table} WHERE session_id = ?1", session_id))
    assert found is not None
    return int(found[0])


async def test_a_removed_session_leaves_nothing_and_takes_its_sub_agents_along(
    db: Database, manager: SessionManager, tmp_path: Path
) -> None:
    project, late = str(tmp_path), time.time() + YEAR
    old = await used(manager, project)
    child = await used(manager, project, parent=old)
    kept = await used(manager, "elsewhere")

    assert await manager.unused(late, project=project) == [old]
    assert await manager.remove(old, late)

    for session_id in (old, child):
        with pytest.raises(SessionNotFound):
            await manager.get(session_id)
        assert [await rows(db, table, session_id) for table in TABLES] == [0] * len(TABLES)
    assert [message.content for message in await manager.history(kept)] == ["hello"]
    assert not await manager.remove(old, late)


async def test_what_was_used_since_or_is_in_use_stays(manager: SessionManager, tmp_path: Path) -> None:
    project = str(tmp_path)
    first, running = await used(manager, project), await used(manager, project)
    lease = await manager.try_claim(running, ttl=2 * YEAR)
    assert lease is not None
    await used(manager, "elsewhere")

    assert await manager.unused(time.time() - YEAR, project=project) == []
    assert not await manager.remove(first, time.time() - YEAR)
    assert not await manager.remove(running, time.time() + YEAR), "somebody holds it"
    await manager.start_turn(lease, "again")
    await manager.release(lease)
    assert not await manager.remove(running, time.time() + YEAR), "a turn of it runs"
    assert await manager.unused(time.time() + YEAR, project=project) == [first]


async def test_a_session_stays_while_its_sub_agent_is_used(manager: SessionManager, tmp_path: Path) -> None:
    old = await used(manager, str(tmp_path))
    child = await used(manager, str(tmp_path), parent=old)
    await used(manager, "elsewhere")
    before = (await manager.get(child)).updated_at

    assert (await manager.get(old)).updated_at < before
    assert not await manager.remove(old, before)


async def test_the_last_session_stays_so_that_no_number_is_given_twice(manager: SessionManager, tmp_path: Path) -> None:
    first, last = await used(manager, str(tmp_path)), await used(manager, str(tmp_path))

    assert await manager.unused(time.time() + YEAR, project=str(tmp_path)) == [first]
    assert not await manager.remove(last, time.time() + YEAR)


async def test_the_log_can_only_grow_afterwards_as_before(
    db: Database, manager: SessionManager, tmp_path: Path
) -> None:
    old = await used(manager, str(tmp_path))
    kept = await used(manager, "elsewhere")
    assert await manager.remove(old, time.time() + YEAR)

    for sql in ("DELETE FROM events", "UPDATE events SET payload = '{}'"):
        with pytest.raises(StoreError, match="append-only"):
            await db.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
    assert await manager.events(kept)


async def test_a_deleted_session_leaves_nothing_even_if_it_is_the_last(
    db: Database, manager: SessionManager, tmp_path: Path
) -> None:
    await used(manager, str(tmp_path))
    last = await used(manager, str(tmp_path))
    child = await used(manager, str(tmp_path), parent=last)

    assert set(await manager.delete(last)) == {last, child}

    for session_id in (last, child):
        with pytest.raises(SessionNotFound):
            await manager.get(session_id)
        assert [await rows(db, table, session_id) for table in TABLES] == [0] * len(TABLES)
    with pytest.raises(SessionNotFound):
        await manager.delete(last)


async def test_numbers_are_not_given_twice_after_a_deletion(db: Database, manager: SessionManager) -> None:
    async def highest() -> tuple[int, int]:
        row = await db.read(
            lambda tx: tx.row("SELECT (SELECT MAX(id) FROM events), (SELECT MAX(number) FROM sessions)")
        )
        assert row is not None
        return int(row[0]), int(row[1])

    async def listed() -> set[str]:
        """The server is shared: other tests leave sessions there."""
        return {session.id for session in await manager.list(project="", limit=100_000)}

    earlier = await listed()
    for _ in range(3):
        session = await used(manager, "p")
        before = await highest()
        await manager.delete(session)
        await used(manager, "p")
        event, number = await highest()
        assert event > before[0]
        assert number > before[1]
    assert await listed() == earlier, "no list shows what is left"


async def test_a_session_with_a_turn_is_not_deleted_and_one_that_a_crash_has_left_is(manager: SessionManager) -> None:
    session = await used(manager, "p")
    lease = await manager.try_claim(session, ttl=60)
    assert lease is not None
    await manager.start_turn(lease, "again")
    with pytest.raises(SessionBusy):
        await manager.delete(session)
    assert [message.content for message in await manager.history(session)] == ["hello", "again"]
    await manager.release(lease)  # its process is gone, and the turn still counts as running
    assert await manager.delete(session) == [session]
