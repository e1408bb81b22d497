"""The database server fails in the middle of a turn that runs in the gateway itself."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import pytest

from tests.distributed.faults import Proxy, proxied
from tests.gateway.kit import Gateway, settings_for
from tests.gateway.outage import check_outage
from tests.support.databases import postgres_server

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_server() as url:
        yield url


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


@pytest.fixture
async def own(server: str) -> tuple[str, str]:
    """The name and the address of a fresh database."""
    name = f"t{uuid.uuid4().hex[:12]}"
    await _execute(server, f"CREATE DATABASE {name}")
    return name, server.replace("/postgres?", f"/{name}?")


@pytest.mark.parametrize(
    ("fail", "reason"), [(Proxy.cut, "Check that the server runs"), (Proxy.swallow, "no answer")], ids=["cut", "silent"]
)
async def test_a_server_that_is_unavailable_in_the_middle_of_a_turn_is_said(
    own: tuple[str, str],
    tmp_path: Path,
    fail: Callable[[Proxy], Any],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with proxied(own[1]) as (proxy, url):

        @contextlib.asynccontextmanager
        async def unavailable(_: Gateway) -> AsyncIterator[None]:
            with monkeypatch.context() as impatient:  # before, a busy machine may take longer
                impatient.setattr("toolgate.sessions.postgres.PATIENCE", 0.5)
                fail(proxy)
                yield
            proxy.heal()

        await check_outage(settings_for(tmp_path, database=url), unavailable, reason)


async def test_a_server_that_becomes_read_only_in_the_middle_of_a_turn_is_said(
    server: str, own: tuple[str, str], tmp_path: Path
) -> None:
    name, url = own
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"

    @contextlib.asynccontextmanager
    async def read_only(_: Gateway) -> AsyncIterator[None]:
        """As after a failover: the server that answers now is a standby."""
        await _execute(server, f"ALTER DATABASE {name} SET default_transaction_read_only = on", ended)
        yield
        await _execute(server, f"ALTER DATABASE {name} SET default_transaction_read_only = off", ended)

    await check_outage(settings_for(tmp_path, database=url), read_only, "read-only")
