"""Every kind of store, for the tests that run on all of them."""

import pytest

from tests.agent.kit import OPEN, Stage
from tests.sessions.conftest import db, kind, postgres_url
from toolgate.sessions import Database, SessionManager

__all__ = ["db", "kind", "postgres_url"]


@pytest.fixture
async def everywhere(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages of the test keep their sessions in a database: in memory, in a file, on a server."""
    monkeypatch.setattr(Stage, "store", SessionManager(db, OPEN))
