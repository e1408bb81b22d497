"""The schema: a new file, a migrated file and Alembic come to the same, and the log can only grow."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from toolgate.sessions import Database, SessionManager, StoreError, files
from toolgate.sessions.connections import connect
from toolgate.sessions.migrate import upgrade
from toolgate.sessions.sqlite_revisions import upgrade_sqlite
from toolgate.settings import SessionSettings


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


def _with_alembic(path: str) -> None:
    """Run the revisions as PostgreSQL gets them."""
    engine = create_engine("sqlite://", creator=lambda: connect(path))
    with engine.begin() as connection:
        upgrade(connection)
    engine.dispose()


@pytest.mark.parametrize("migrate", [upgrade_sqlite, _with_alembic])
def test_a_migrated_file_and_a_new_file_have_the_same_schema(tmp_path: Path, migrate: Callable[[str], None]) -> None:
    new, upgraded = tmp_path / "new.db", tmp_path / "upgraded.db"
    files.create(str(new))
    with sqlite3.connect(upgraded) as connection:
        connection.execute("PRAGMA user_version = 1")  # a file of SQLite, without a single table
    connection.close()
    migrate(str(upgraded))

    assert [name for name, _ in _schema(upgraded)] == [name for name, _ in _schema(new)]
    assert [row for row in _schema(upgraded) if row[0] != "alembic_version"] == [
        row for row in _schema(new) if row[0] != "alembic_version"
    ]


async def test_a_database_without_tables_is_filled(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("VACUUM")
    connection.close()
    assert (tmp_path / "x.db").stat().st_size > 0
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    assert (await SessionManager(db, SessionSettings()).create()).id
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
