"""One PostgreSQL for all of these tests, and a database of its own for each."""

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.distributed.cluster import OPTIONS, SHORT_LEASE, Cluster, cluster
from tests.support.databases import postgres_server


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    with postgres_server() as url:
        with ThreadPoolExecutor(1) as thread:  # it may be asked for inside a running loop
            thread.submit(lambda: asyncio.run(_hurry(url))).result()
        yield url


async def _hurry(url: str) -> None:
    """Let the disk take its time: the server is killed here, the machine is not."""
    import asyncpg  # type: ignore[import-untyped]

    connection = await asyncpg.connect(url)
    await connection.execute("ALTER SYSTEM SET fsync = off")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


async def new_database(server_url: str) -> str:
    """The address of a fresh database."""
    import asyncpg

    name = f"t{uuid.uuid4().hex[:12]}"
    connection = await asyncpg.connect(server_url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return server_url.replace("/postgres?", f"/{name}?")


@pytest.fixture
async def own_url(server_url: str) -> str:
    return await asyncio.shield(new_database(server_url))


@pytest.fixture
async def machines(own_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(own_url, tmp_path) as made:
        yield made


@pytest.fixture
async def hurried(own_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """A cluster in which leases run out soon: a busy worker may lose one, so how often a turn is begun says nothing."""
    async with cluster(own_url, tmp_path, dataclasses.replace(OPTIONS, lease=SHORT_LEASE)) as made:
        yield made
