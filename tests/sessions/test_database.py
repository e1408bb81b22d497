"""Addresses, files and schemas."""

import asyncio
import errno
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from toolgate.sessions import Database, SessionManager, StoreError, faults, files
from toolgate.sessions.file_watch import FileWatch
from toolgate.sessions.migrate import upgrade_sqlite
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


def _foreign(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE bookmarks (url TEXT)")


def _with_alembic(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    connection.execute("INSERT INTO alembic_version VALUES ('0001')")
    connection.execute("CREATE TABLE invoices (id INTEGER)")


def _with_an_application_id(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA application_id = 1196444487")
    connection.execute("PRAGMA user_version = 4")


def _newer(connection: sqlite3.Connection) -> None:
    files.apply_schema(connection)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")


def _everything(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.mark.parametrize("mode", ["delete", "wal", "wal, open", "wal, killed"])
@pytest.mark.parametrize(
    ("fill", "match"),
    [
        (_foreign, "belongs to another program"),
        (_with_alembic, "belongs to another program"),
        (_with_an_application_id, "belongs to another program"),
        (_newer, f"9999, which .* does not know .it knows up to {HEAD}"),
    ],
    ids=["foreign", "alembic", "application", "newer"],
)
async def test_what_is_not_ours_is_refused_without_a_changed_byte(
    tmp_path: Path, fill: Callable[[sqlite3.Connection], None], match: str, mode: str
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    connection = sqlite3.connect(made / "x.db", isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode.partition(',')[0]}").fetchall()
    fill(connection)
    if mode == "wal, killed":  # what is in the log is not in the file, and nobody has it open
        shutil.copytree(made, tmp_path / "left")
    elif mode != "wal, open":
        connection.close()
    directory = tmp_path / "left" if mode == "wal, killed" else made
    before = _everything(directory)
    db = Database(f"sqlite:///{directory}/x.db")
    with pytest.raises(StoreError, match=match):
        await db.migrate()
    with pytest.raises(StoreError):
        await SessionManager(db, SessionSettings()).create()
    await db.close()
    assert _everything(directory) == before
    connection.close()


async def test_a_file_of_another_program_stays_as_it_is_where_nobody_migrates(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as connection:
        _foreign(connection)
    connection.close()
    before = _everything(tmp_path)
    db = Database(f"sqlite:///{tmp_path}/x.db")
    with pytest.raises(StoreError):
        await SessionManager(db, SessionSettings()).create()
    await db.close()
    assert _everything(tmp_path) == before


async def test_a_database_without_tables_is_filled(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("VACUUM")
    connection.close()
    assert (tmp_path / "x.db").stat().st_size > 0
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    assert (await SessionManager(db, SessionSettings()).create()).id
    await db.close()


@pytest.mark.parametrize("finding", ["Tree 3 page 5: btreeInitPage() returns error code 266", "error code=10"])
async def test_a_disk_that_cannot_be_read_is_not_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finding: str
) -> None:
    error = faults.from_check(finding, "x.db")
    assert ("the disk reports an error" in str(error), "damaged" in str(error)) == (True, False)
    assert "is damaged" in str(faults.from_check("Tree 3 page 5: btreeInitPage() returns error code 11", "x.db"))
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    store = SessionManager(db, SessionSettings())
    checked = threading.Event()

    def failing(path: str) -> None:
        checked.set()
        raise error

    monkeypatch.setattr(files, "CHECKED_AT_ONCE", 0)
    monkeypatch.setattr(files, "check_whole", failing)
    await db.migrate()
    assert await asyncio.to_thread(checked.wait, 5)
    assert (await store.create()).id  # a large file is checked while it is used; it is used on
    await db.close()


async def test_a_read_error_at_the_start_is_said_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()

    def failing(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", failing)
    with pytest.raises(StoreError, match=r"cannot be read .Input/output error") as caught:
        await db.migrate()
    await db.close()
    assert "damaged" not in str(caught.value)


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
    look = FileWatch._new

    def slow(self: FileWatch) -> list[str]:
        look(self)
        looking.set()
        go_on.wait(10)
        seen.append(self._connection is not None and self._connection.execute("SELECT 1").fetchone())
        return []

    db = Database(f"sqlite:///{tmp_path}/a.db")
    await db.migrate()
    with db.feed.follow("anything"):
        await db.driver.listen()
        monkeypatch.setattr(FileWatch, "_new", slow)
        await asyncio.to_thread(looking.wait, 10)
        closing = asyncio.create_task(db.close())
        await asyncio.sleep(0.2)
        go_on.set()
        await closing
    assert seen == [(1,)]
