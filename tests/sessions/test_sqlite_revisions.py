"""Migrating a SQLite file runs what is missing, in one transaction, without Alembic."""

import sqlite3
from pathlib import Path

import pytest

from toolgate.sessions import StoreError, files
from toolgate.sessions.schema import HEAD, REVISIONS, statements
from toolgate.sessions.sqlite_revisions import upgrade_sqlite


def _at(path: Path, revision: str) -> None:
    connection = sqlite3.connect(path)
    for one in REVISIONS[: REVISIONS.index(revision) + 1]:
        for statement in statements(one, "sqlite"):
            connection.execute(statement)
    connection.execute(files.VERSION_TABLE)
    connection.execute("INSERT INTO alembic_version VALUES (?)", (revision,))
    connection.commit()
    connection.close()


def _version(path: Path) -> list[tuple[str]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_earlier_revision_becomes_the_latest(tmp_path: Path, revision: str) -> None:
    _at(tmp_path / "x.db", revision)

    upgrade_sqlite(str(tmp_path / "x.db"))

    assert _version(tmp_path / "x.db") == [(HEAD,)]


def test_it_stops_at_the_revision_that_was_asked_for(tmp_path: Path) -> None:
    _at(tmp_path / "x.db", REVISIONS[0])

    upgrade_sqlite(str(tmp_path / "x.db"), REVISIONS[2])

    assert _version(tmp_path / "x.db") == [(REVISIONS[2],)]


def test_a_file_of_a_newer_version_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    _at(path, REVISIONS[0])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    with pytest.raises(StoreError, match="newer"):
        upgrade_sqlite(str(path))
    assert _version(path) == [("9999",)]


def test_a_revision_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    _at(path, REVISIONS[0])
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE memories (other TEXT)")  # in the way of the second revision
    connection.commit()
    connection.close()

    with pytest.raises(StoreError):
        upgrade_sqlite(str(path), REVISIONS[2])
    assert _version(path) == [(REVISIONS[0],)]
