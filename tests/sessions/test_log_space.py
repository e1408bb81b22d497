"""Room in SQLite's own log: commits overwrite it, and it is never another database's log that is made longer."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate.sessions import Database, SessionManager
from toolgate.sessions.connections import connect, identity
from toolgate.sessions.log_space import STEP, LogSpace
from toolgate.settings import SessionSettings


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"{tmp_path}/x.db"


@pytest.fixture
async def manager(path: str) -> AsyncIterator[SessionManager]:
    made = await opened(path)
    yield made
    await made._db.close()


async def opened(path: str) -> SessionManager:
    db = Database(f"sqlite:///{path}")
    await db.migrate()
    return SessionManager(db, SessionSettings())


def log_size(path: str) -> int:
    return os.stat(f"{path}-wal").st_size


async def room(manager: SessionManager, path: str) -> int:
    """Write until the writer had time to make the log longer; returns its size."""
    while log_size(path) <= STEP:
        await manager._db.write(lambda _: None)
    return log_size(path)


async def test_commits_do_not_make_the_log_longer(manager: SessionManager, path: str) -> None:
    session = await manager.create()
    before = await room(manager, path)
    for number in range(20):
        await manager.append_message(session.id, "user", f"{number} {'x' * 1000}")
    assert log_size(path) == before


async def test_room_is_used_up_when_a_commit_goes_beyond_it(path: str) -> None:
    await (await opened(path))._db.close()
    connection, space = connect(path), LogSpace(path)
    connection.execute("CREATE TABLE filled (content BLOB)")
    found = [space.is_used_up()]
    space.add(connection, identity(path))
    for _ in range(2):
        found.append(space.is_used_up())
        connection.execute("INSERT INTO filled VALUES (zeroblob(?1))", (STEP * 2 // 3,))
    assert [*found, space.is_used_up()] == [True, False, False, True]
    connection.close()


async def test_what_is_in_a_log_with_room_is_found_by_who_opens_it_after_a_crash(
    manager: SessionManager, path: str, tmp_path: Path
) -> None:
    session = await manager.create()
    await room(manager, path)
    await manager.append_message(session.id, "user", "Hello")
    copy = f"{tmp_path}/copy.db"
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    other = await opened(copy)
    assert [message.content for message in await other.messages(session.id)] == ["Hello"]
    assert other._db.driver.lost == ""  # type: ignore[attr-defined]  # it is SQLite
    await other._db.close()


async def test_two_writers_do_not_add_room_in_turns(manager: SessionManager, path: str) -> None:
    other = await opened(path)
    session = await manager.create()
    before = await room(manager, path)
    spaces = LogSpace(path), LogSpace(path)
    for one in (manager, other) * 3:
        await one.append_message(session.id, "user", "Hello")
        assert [space.is_used_up() for space in spaces] == [False, False]
    assert log_size(path) == before
    await other._db.close()


async def test_the_log_of_a_database_that_has_taken_the_place_is_left_alone(path: str, tmp_path: Path) -> None:
    manager = await opened(path)
    await manager.create()
    await manager._db.close()
    connection, ours = connect(path), identity(path)
    os.rename(path, f"{tmp_path}/moved.db")
    shutil.copy(f"{tmp_path}/moved.db", path)
    Path(f"{path}-wal").write_bytes(b"another log")
    LogSpace(path).add(connection, ours)
    assert Path(f"{path}-wal").read_bytes() == b"another log"
    connection.close()


async def test_writing_goes_on_if_the_log_cannot_be_made_longer(
    manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LogSpace, "add", full)
    session = await manager.create()
    await manager.append_message(session.id, "user", "Hello")
    assert [message.content for message in await manager.messages(session.id)] == ["Hello"]
