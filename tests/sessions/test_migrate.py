"""A killed migration leaves the old schema or the new one."""

import asyncio
import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import coding, rows
from tests.support.forks import Child, Say
from toolgate.sessions import (
    Database,
    SessionManager,
    files,
)
from toolgate.sessions.schema import HEAD, REVISIONS, statements

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


def _revision(path: Path) -> tuple[str, list[str]]:
    """The revision and the names of the tables."""
    names = sorted(row[0] for row in rows(path, "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))
    return rows(path, "SELECT version_num FROM alembic_version")[0][0], names


def _at_first_revision(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in [files.VERSION_TABLE, *statements(REVISIONS[0], "sqlite")]:
        connection.execute(statement)
    connection.execute("INSERT INTO alembic_version VALUES (?)", (REVISIONS[0],))
    connection.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('s', 'chat_safe', 1, 1)")
    connection.commit()
    connection.close()


def _killed_at(path: Path, statement: int) -> bool:
    """Migrate in a process that dies before its n-th statement; whether it died."""

    async def migrate(say: Say) -> None:
        left = statement

        def count(sql: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        real = sqlite3.connect

        def counted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = real(*args, **kwargs)
            connection.set_trace_callback(count)
            return connection

        sqlite3.connect = counted  # type: ignore[assignment]
        await Database(f"sqlite:///{path}").migrate()

    code, _ = Child(migrate).end()
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_d10_a_killed_migration_leaves_the_old_schema_or_the_new(tmp_path: Path) -> None:
    complete = tmp_path / "complete.db"
    asyncio.run(made(complete))
    new = _revision(complete)
    old_file = tmp_path / "old.db"
    _at_first_revision(old_file)
    old = _revision(old_file)
    path = tmp_path / "x.db"
    died, statement = True, 0
    seen = set()
    while died:
        statement += 1
        if not path.exists() or _revision(path) == new:
            path.unlink(missing_ok=True)
            shutil.copy(old_file, path)
        died = _killed_at(path, statement)
        assert _revision(path) in (old, new)
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        seen.add(_revision(path)[0])

    assert statement > 10
    assert seen == {REVISIONS[0], HEAD}
    assert rows(path, "SELECT id, mode FROM sessions") == [("s", "chat_safe")]


def test_d10_a_killed_beginning_leaves_nothing_or_everything(tmp_path: Path) -> None:
    complete = tmp_path / "complete.db"
    asyncio.run(made(complete))
    died, statement = True, 0
    while died:
        statement += 1
        path = tmp_path / str(statement) / "x.db"
        died = _killed_at(path, statement)
        assert not path.exists() or _revision(path) == _revision(complete)

    assert statement > len(statements(HEAD, "sqlite"))
    assert _revision(path) == _revision(complete)


def test_d10_many_may_begin_at_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.db"

    async def begin(say: Say) -> None:
        manager = manager_of(path)
        await manager._db.migrate()
        await manager.create()
        await manager._db.close()

    assert [child.end() for child in [Child(begin) for _ in range(8)]] == [(0, [])] * 8
    assert rows(path, "SELECT COUNT(*) FROM sessions") == [(8,)]
    assert [entry.name for entry in path.parent.iterdir() if entry.name.endswith(".new")] == []
