"""Addresses, files and schemas."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolgate.sessions import Database, SessionManager, StoreError, files
from toolgate.sessions.migrate import upgrade_sqlite
from toolgate.sessions.neighbours import Neighbours
from toolgate.sessions.schema import HEAD
from toolgate.sessions.sqlite import SqliteFile, SqliteMemory
from toolgate.settings import SessionSettings


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////srv/x.db", "/srv/x.db"),
        ("sqlite+aiosqlite:////srv/x.db?cache=shared", "/srv/x.db"),
        ("sqlite:///x.db", "{cwd}/x.db"),
        ("sqlite:////srv/a%20b.db", "/srv/a%20b.db"),
    ],
)
def test_an_address_names_a_file(url: str, path: str) -> None:
    driver = Database(url).driver

    assert isinstance(driver, SqliteFile)
    assert driver.path == path.format(cwd=Path.cwd())


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite+aiosqlite:///:memory:"])
def test_an_address_names_the_memory(url: str) -> None:
    assert isinstance(Database(url).driver, SqliteMemory)


@pytest.mark.parametrize("url", ["", "x.db", "mysql://host/x", "sqlite://relative.db", "file:///x"])
def test_other_addresses_are_refused_with_an_example(url: str) -> None:
    with pytest.raises(StoreError, match="TOOLGATE_DATABASE_URL to something like"):
        Database(url)


async def test_the_file_and_its_directory_are_the_users_own(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/a/b/x.db")
    await db.migrate()
    await db.close()
    modes = [stat.S_IMODE((tmp_path / path).stat().st_mode) for path in ("a/b", "a/b/x.db")]

    assert modes == [0o700, 0o600]


async def test_nothing_is_made_without_being_asked_for(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(StoreError, match="migrate"):
        await SessionManager(db, SessionSettings()).create()
    await db.close()

    assert list(tmp_path.iterdir()) == []


async def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    session = await SessionManager(db, SessionSettings()).create()
    await db.migrate()
    found = await SessionManager(db, SessionSettings()).get(session.id)
    await db.close()

    assert found == session


def _schema(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return [(name, " ".join(sql.split())) for name, sql in rows]
    finally:
        connection.close()


def test_alembic_and_a_new_file_come_to_the_same_schema(tmp_path: Path) -> None:
    new, upgraded = tmp_path / "new.db", tmp_path / "upgraded.db"
    files.create(str(new))
    with sqlite3.connect(upgraded) as connection:
        connection.execute("PRAGMA user_version = 1")  # a file of SQLite, without a single table
    connection.close()
    upgrade_sqlite(str(upgraded))

    assert [name for name, _ in _schema(upgraded)] == [name for name, _ in _schema(new)]
    assert [row for row in _schema(upgraded) if row[0] != "alembic_version"] == [
        row for row in _schema(new) if row[0] != "alembic_version"
    ]


async def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    db = Database(f"sqlite:///{path}")
    with pytest.raises(StoreError, match="belongs to another program"):
        await db.migrate()
    await db.close()


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    files.create(str(path))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    db = Database(f"sqlite:///{path}")
    with pytest.raises(StoreError, match=f"9999, which .* does not know .it knows up to {HEAD}"):
        await db.migrate()
    await db.close()


async def test_the_log_can_only_grow(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, SessionSettings())
    session = await manager.create()
    await manager.append_message(session.id, "user", "kept")
    for sql in ("DELETE FROM events", "UPDATE events SET payload = '{}'"):
        with pytest.raises(StoreError, match="append-only"):
            await db.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
    events = await manager.events(session.id)
    await db.close()

    assert [event.payload["content"] for event in events] == ["kept"]


def test_starting_with_sqlite_loads_neither_sqlalchemy_nor_alembic(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from toolgate.sessions import Database, InMemorySessions\n"
        f"db = Database('sqlite:///{tmp_path}/x.db')\n"
        "asyncio.run(db.migrate()); asyncio.run(db.migrate()); asyncio.run(InMemorySessions().create())\n"
        "print(sorted({'sqlalchemy', 'alembic', 'aiosqlite', 'asyncpg'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


async def test_closing_waits_for_whoever_looks_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking, go_on, seen = threading.Event(), threading.Event(), []
    look = Neighbours._new

    def slow(self: Neighbours) -> list[str]:
        look(self)
        looking.set()
        go_on.wait(10)
        seen.append(self._connection is not None and self._connection.execute("SELECT 1").fetchone())
        return []

    db = Database(f"sqlite:///{tmp_path}/a.db")
    await db.migrate()
    with db.feed.follow("anything"):
        await db.driver.listen()
        monkeypatch.setattr(Neighbours, "_new", slow)
        await asyncio.to_thread(looking.wait, 10)
        closing = asyncio.create_task(db.close())
        await asyncio.sleep(0.2)
        go_on.set()
        await closing
    assert seen == [(1,)]
