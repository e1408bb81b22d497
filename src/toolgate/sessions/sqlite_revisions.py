"""Migrates a SQLite file to this version: runs the statements of the missing revisions in one transaction.

Alembic does the same on PostgreSQL (`migrate.py`). A file needs neither Alembic nor SQLAlchemy.
"""

from __future__ import annotations

import sqlite3

from toolgate.sessions import faults
from toolgate.sessions.connections import connect
from toolgate.sessions.files import VERSION_TABLE
from toolgate.sessions.schema import HEAD, REVISIONS, statements


def upgrade_sqlite(path: str, target: str = HEAD) -> None:
    """Run the missing revisions up to `target`. Raises `StoreError` if the file cannot be migrated; it is unchanged."""
    try:
        connection = connect(path)
        try:
            connection.execute("BEGIN IMMEDIATE")  # waits for another process that migrates it
            _upgrade(connection, path, target)
            connection.execute("COMMIT")
        finally:
            connection.close()  # without the COMMIT, everything is rolled back
    except sqlite3.Error as error:
        raise faults.from_sqlite(error, path) from error


def _upgrade(connection: sqlite3.Connection, path: str, target: str) -> None:
    revision = _revision(connection)
    if revision is not None and revision not in REVISIONS:
        raise faults.newer(path, revision)
    done = 0 if revision is None else REVISIONS.index(revision) + 1
    for missing in REVISIONS[done : REVISIONS.index(target) + 1]:
        for statement in statements(missing, "sqlite"):
            connection.execute(statement)
        connection.execute("DELETE FROM alembic_version")
        connection.execute("INSERT INTO alembic_version VALUES (?)", (missing,))


def _revision(connection: sqlite3.Connection) -> str | None:
    """Return the revision of the file, which gets the table for it if it has none."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone() is None:
        connection.execute(VERSION_TABLE)
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])
