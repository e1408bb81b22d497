"""SQLite: disks that cannot be read, and a start that loads little."""

import asyncio
import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolgate.sessions import Database, SessionManager, StoreError, faults, files
from toolgate.settings import SessionSettings


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
    monkeypatch.setattr(files, "check_integrity", failing)
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
