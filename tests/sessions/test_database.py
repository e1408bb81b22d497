"""Addresses, files and schemas."""

import asyncio
import threading
from pathlib import Path

import pytest

from toolgate.sessions import Database, StoreError
from toolgate.sessions.file_watch import FileWatch
from toolgate.sessions.sqlite import SqliteFile, SqliteMemory


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


async def test_closing_waits_for_whoever_looks_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking, go_on, seen = threading.Event(), threading.Event(), []
    look = FileWatch._read_new

    def slow(self: FileWatch) -> list[str]:
        look(self)
        looking.set()
        go_on.wait(60)
        seen.append(self._connection is not None and self._connection.execute("SELECT 1").fetchone())
        return []

    db = Database(f"sqlite:///{tmp_path}/a.db")
    await db.migrate()
    with db.feed.follow("anything"):
        await db.driver.listen()
        monkeypatch.setattr(FileWatch, "_read_new", slow)
        await asyncio.to_thread(looking.wait, 10)
        closing = asyncio.create_task(db.close())
        await asyncio.sleep(0.2)
        go_on.set()
        await closing
    assert seen == [(1,)]
