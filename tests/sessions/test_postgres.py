"""What only PostgreSQL has: other machines, and a server that tells."""

import asyncio
import contextlib
import os
import signal
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import pytest

from tests.distributed.faults import proxied
from tests.support.forks import Child, Say
from toolgate.sessions import Database, SessionManager, StoreError
from toolgate.sessions import postgres as module
from toolgate.sessions.driver import Transaction
from toolgate.sessions.schema import HEAD, REVISIONS, Dialect, statements
from toolgate.settings import SessionSettings


async def test_a_follower_hears_of_what_other_processes_write(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.Postgres, "polls", None)  # nobody looks: the server has to tell
    here, there = (SessionManager(Database(postgres_url), SessionSettings()) for _ in range(2))
    session = await here.create()

    async def first() -> str:
        async with contextlib.aclosing(here.follow(session.id)) as events:
            async for event in events:
                return str(event.payload["content"])
        return ""

    following = asyncio.create_task(first())
    while here._db.driver._listening is None:  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    await there.append_message(session.id, "user", "hello")
    async with asyncio.timeout(60):
        heard = await following
    await here._db.close()
    await there._db.close()

    assert heard == "hello"


async def test_a_follower_that_ends_while_it_begins_to_listen_leaves_no_connection(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def never(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncpg.Connection, "add_listener", never)
    db = Database(postgres_url)
    driver: Any = db.driver
    following = asyncio.create_task(driver.listen())
    await begun.wait()
    following.cancel()
    await asyncio.wait({following})
    left = driver._engine.pool.checkedout()
    await db.close()

    assert left == 0


async def test_a_follower_does_not_wait_forever_for_a_silent_server(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxied(postgres_url) as (proxy, way):
        db = Database(way)
        await db.migrate()
        monkeypatch.setattr(module, "PATIENCE", 0.2)
        proxy.swallow()
        with pytest.raises(StoreError, match="no answer"):
            await db.driver.listen()
        proxy.heal()
        await db.close()


async def test_leases_hold_between_processes(postgres_url: str) -> None:
    here, there = (SessionManager(Database(postgres_url), SessionSettings()) for _ in range(2))
    session = await here.create()
    claims = await asyncio.gather(here.try_claim(session.id), there.try_claim(session.id))
    await here._db.close()
    await there._db.close()

    assert sum(lease is not None for lease in claims) == 1


async def test_a_machine_that_vanishes_within_a_transaction_does_not_keep_its_locks(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "idle_in_transaction_session_timeout"
    assert limit in module._SERVER_SETTINGS
    monkeypatch.setitem(module._SERVER_SETTINGS, limit, "1s")
    async with proxied(postgres_url) as (proxy, way):
        gone, here = Database(way), Database(postgres_url)

        def vanish(transaction: Transaction) -> None:
            transaction.row("SELECT pg_advisory_xact_lock(1, 7)")
            proxy.swallow()
            transaction.row("SELECT 1")

        async def write() -> None:
            await gone.write(vanish)

        vanishing = asyncio.create_task(write())
        held = await _free(here, False)
        async with asyncio.timeout(60):
            released = await _free(here, True)
        proxy.heal()
        await asyncio.wait({vanishing})
        await gone.close()
        await here.close()

    assert (held, released) == (True, True)
    assert isinstance(vanishing.exception(), StoreError)


async def _free(db: Database, wanted: bool) -> bool:
    """Wait until the lock is free, or until it is not."""
    while (await db.read(lambda tx: tx.row("SELECT pg_try_advisory_xact_lock(1, 7)"))) != (wanted,):
        await asyncio.sleep(0.05)
    return True


async def _tables(db: Database) -> list[str]:
    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1"
    return [row[0] for row in await db.read(lambda tx: tx.rows(sql))]


@pytest.fixture
async def empty_url(postgres_url: str) -> str:
    """A database of its own, without tables."""
    from sqlalchemy import text
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(
        postgres_url.replace("postgresql:", "postgresql+asyncpg:"), isolation_level="AUTOCOMMIT"
    )
    async with engine.connect() as connection:
        await connection.execute(text("DROP DATABASE IF EXISTS empty"))
        await connection.execute(text("CREATE DATABASE empty"))
    await engine.dispose()
    return postgres_url.replace("/postgres?", "/empty?")


async def test_d10_a_migration_that_fails_leaves_nothing(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(revision: str, dialect: Dialect) -> tuple[str, ...]:
        usual = statements(revision, dialect)
        return (*usual[:-1], "this is no SQL") if revision == HEAD else usual

    db = Database(empty_url)
    with monkeypatch.context() as patch:
        patch.setattr("toolgate.sessions.schema.statements", cut_short)
        with pytest.raises(StoreError):
            await db.migrate()
    before = await _tables(db)
    await db.migrate()
    after = await _tables(db)
    await db.close()

    assert before == []
    assert {"sessions", "messages", "events", "memories", "alembic_version"} <= set(after)


def _killed_at(url: str, statement: int) -> bool:
    """Migrate in a process that dies before its n-th statement; whether it died."""
    from sqlalchemy import Engine, event

    async def migrate(say: Say) -> None:
        left = statement

        def count(*_: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(Engine, "before_cursor_execute", count)
        await Database(url).migrate()

    code, _ = Child(migrate).end()
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.mark.parametrize("revision", [None, REVISIONS[0]])
async def test_d10_a_killed_migration_leaves_the_old_schema_or_the_new(empty_url: str, revision: str | None) -> None:
    from toolgate.sessions import migrate

    db = Database(empty_url)
    if revision is not None:
        await db.write(lambda tx: migrate.upgrade(tx._connection, revision))  # type: ignore[attr-defined]
        await db.write(
            lambda tx: tx.run("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('s', 'chat_safe', 1, 1)")
        )
    before = await _tables(db)
    died, statement, seen = True, 0, set()
    while died:
        statement += 1 if statement < 5 else 3  # every third statement of the many that make the tables
        died = _killed_at(empty_url, statement)
        tables = await _tables(db)
        seen.add(tuple(tables))
        assert tables == before or not died or {"sessions", "memories", "alembic_version"} <= set(tables)
    version = await db.read(lambda tx: tx.rows("SELECT version_num FROM alembic_version"))
    kept = await db.read(lambda tx: tx.rows("SELECT id, mode FROM sessions"))
    await db.close()

    assert statement > 10
    assert len(seen) == 2
    assert version == [(HEAD,)]
    assert kept == ([] if revision is None else [("s", "chat_safe")])


async def test_many_may_migrate_at_once(empty_url: str) -> None:
    databases = [Database(empty_url) for _ in range(4)]
    await asyncio.gather(*(db.migrate() for db in databases))
    tables = await _tables(databases[0])
    for db in databases:
        await db.close()

    assert "sessions" in tables


async def test_a_newer_schema_is_refused(empty_url: str) -> None:
    db = Database(empty_url)
    await db.migrate()

    def newer(tx: Transaction) -> None:
        tx.run("UPDATE alembic_version SET version_num = '9999'")

    await db.write(newer)
    with pytest.raises(StoreError, match="revision 9999, which this version of Toolgate does not know"):
        await db.migrate()
    await db.close()


async def test_an_unreachable_server_says_what_to_check_and_keeps_the_password() -> None:
    db = Database("postgresql://ada:hunter2@127.0.0.1:1/none")
    with pytest.raises(StoreError, match="Check that the server runs") as refused:
        await db.migrate()
    await db.close()

    assert "hunter2" not in str(refused.value)


async def test_what_a_package_runs_on_the_drivers_connection_is_a_part_of_the_transaction(postgres_url: str) -> None:
    db = Database(postgres_url)
    await db.write(lambda tx: tx.run("CREATE TABLE IF NOT EXISTS driven (number INTEGER)"))

    def half(transaction: Any) -> None:
        transaction.with_driver(lambda connection: connection.execute("INSERT INTO driven VALUES ($1)", 1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await db.write(half)
    left = await db.read(lambda tx: tx.row("SELECT COUNT(*) FROM driven"))
    await db.write(lambda tx: tx.run("DROP TABLE driven"))
    await db.close()

    assert left == (0,)
