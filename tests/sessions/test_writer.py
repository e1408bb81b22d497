"""The thread that writes to SQLite: many units in one commit, and none of them harms another."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[SessionManager]:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    yield SessionManager(db, SessionSettings())
    await db.close()
