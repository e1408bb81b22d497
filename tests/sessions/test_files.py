"""The database's own file: private, made only when asked for, and never another program's."""

import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from toolgate.sessions import Database, SessionManager, StoreError, files
from toolgate.sessions.schema import HEAD
from toolgate.settings import SessionSettings


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
