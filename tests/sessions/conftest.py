"""Stores of every kind, each as an application would open it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.distributed.conftest import machines, own_url, server_url  # noqa: F401 - fixtures
from tests.support.databases import KINDS, postgres_server, prepared
from toolgate.sessions import Database, InMemorySessions, SessionManager
from toolgate.settings import SessionSettings


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres_server() as url:
        yield prepared(url)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def db(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """A database with its tables."""
    urls = {"memory": "sqlite:///:memory:", "sqlite": f"sqlite:///{tmp_path}/data/toolgate.db"}
    made = Database(urls[kind] if kind in urls else request.getfixturevalue("postgres_url"))
    await made.migrate()
    yield made
    await made.close()


@pytest.fixture
async def store(kind: str, db: Database) -> AsyncIterator[SessionManager]:
    """A store with the stage closed, as it is by default."""
    made = InMemorySessions() if kind == "memory" else SessionManager(db, SessionSettings())
    yield made
    if isinstance(made, InMemorySessions):
        await made.close()
