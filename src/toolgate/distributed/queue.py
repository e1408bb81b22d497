"""The queue of turns: pgqueuer, through its public API. No other module uses pgqueuer.

Every function works in the caller's transaction: pgqueuer gets its connection, so that a turn and its job are written
together or not at all. A job carries the id of its turn and of its session. Its entry point is the
queue, the version and the user, so that workers claim only turns of their version and pgqueuer limits each user.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from toolgate.errors import StoreError
from toolgate.log import logger
from toolgate.sessions.driver import Transaction

if TYPE_CHECKING:
    from pgqueuer import Job, JobId, Queries

    from toolgate.sessions import Database

T = TypeVar("T")

_CHANNEL = "toolgate_queue"
_RECONNECT = 1.0
"""Seconds before the connection that listens is opened again."""


def address(url: str) -> str:
    """The database URL in the form that asyncpg reads; raises `StoreError` if it is not PostgreSQL."""
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise StoreError(
            "Turns on several machines need PostgreSQL: set TOOLGATE_DATABASE_URL to postgresql://user@host/name."
        )
    return f"postgresql://{rest}"


@functools.cache
def _builders() -> dict[str, Any]:
    """pgqueuer's statements for tables in a schema of their own. No variable of the environment changes the names."""
    try:
        from pgqueuer.adapters.persistence import qb
        from pgqueuer.domain.settings import DBSettings, Durability
        from pgqueuer.types import Channel
    except ModuleNotFoundError as error:
        raise StoreError(
            "Turns on several machines need more packages: pip install 'toolgate[distributed]'."
        ) from error
    logging.getLogger("pgqueuer").setLevel(logging.WARNING)
    settings = DBSettings(
        prefix="",
        db_schema="pgqueuer",
        channel=Channel(_CHANNEL),
        function="fn_pgqueuer_changed",
        statistics_table="pgqueuer_statistics",
        queue_status_type="pgqueuer_status",
        queue_table="pgqueuer",
        queue_table_log="pgqueuer_log",
        trigger="tg_pgqueuer_changed",
        schedules_table="pgqueuer_schedules",
        durability=Durability.balanced,
    )
    return {
        "qbe": qb.QueryBuilderEnvironment(settings),
        "qbq": qb.QueryQueueBuilder(settings),
        "qbs": qb.QuerySchedulerBuilder(settings),
    }


def _queries(connection: Any) -> Queries:
    builders = _builders()  # first: it says what to install
    from pgqueuer import AsyncpgDriver, Queries

    return Queries(AsyncpgDriver(connection), **builders)


def _run(transaction: Transaction, use: Callable[[Queries], Awaitable[T]]) -> T:
    """The result of a call of pgqueuer, made in this transaction."""
    from toolgate.sessions.postgres import PostgresTransaction

    assert isinstance(transaction, PostgresTransaction)
    return transaction.with_driver(lambda connection: use(_queries(connection)))


async def prepare(db: Database, url: str) -> None:
    """Create pgqueuer's tables if they are missing, and bring older ones up to date."""
    url = address(url)
    _builders()
    if not await db.write(_install):
        return
    import asyncpg  # type: ignore[import-untyped]

    try:  # some of its changes cannot share a transaction
        connection = await asyncpg.connect(url, timeout=10)
        try:
            await _queries(connection).upgrade()
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreError(f"The tables of pgqueuer could not be brought up to date ({error}).") from error


def _install(transaction: Transaction) -> bool:
    """Create the tables if they are missing; return whether existing ones are older than this pgqueuer."""
    transaction.row("SELECT pg_advisory_xact_lock(hashtextextended('toolgate queue', 0))")

    async def install(queries: Queries) -> bool:
        if await queries.schema_is_installed():
            return bool((await queries.plan_upgrade()).statements)
        await queries.install()
        return False

    return _run(transaction, install)


def entrypoint(queue: str, version: str, user: str) -> str:
    """The name under which pgqueuer keeps the turns of a user in a queue."""
    return f"{queue}@{version}#{user}"


def put(transaction: Transaction, turn_id: str, session_id: str, name: str) -> int:
    """Put a turn into its queue, and notify the workers when the transaction commits; returns the id of the job."""
    payload = json.dumps([turn_id, session_id]).encode()
    return int(_run(transaction, lambda queries: queries.enqueue(name, payload))[0])


def lock(transaction: Transaction, name: str) -> bool:
    """Return whether this transaction may claim jobs of this name. Another one may be claiming them.

    Without the lock, two transactions could compete for a user's last slot, and PostgreSQL would abort one of them.
    """
    row = transaction.row("SELECT pg_try_advisory_xact_lock(hashtextextended(?1, 1))", name)
    return row is not None and bool(row[0])


def take(
    transaction: Transaction, name: str, worker: str, *, limit: int, timeout: float
) -> tuple[Job, str, str] | None:
    """Claim a job, with the ids of its turn and of its session. Jobs without a heartbeat for `timeout` count, too.

    None if nothing waits, or if `limit` jobs of this name run already. The caller MUST have the lock of the name.
    """
    from pgqueuer.queries import EntrypointExecutionParameter
    from pgqueuer.types import QueueEntrypoint, QueueManagerId

    jobs = _run(
        transaction,
        lambda queries: queries.dequeue(
            1,
            {QueueEntrypoint(name): EntrypointExecutionParameter(limit)},
            QueueManagerId(uuid.UUID(worker)),
            None,
            timedelta(seconds=timeout),
        ),
    )
    if not jobs:
        return None
    turn_id, session_id = json.loads(jobs[0].payload or b"[]")
    return jobs[0], turn_id, session_id


def postpone(transaction: Transaction, job: Job, seconds: float) -> None:
    """Return a claimed job to its queue; it can be claimed again after a while."""
    _run(transaction, lambda queries: queries.retry_job(job, timedelta(seconds=seconds), None))


def complete(transaction: Transaction, job: Job) -> None:
    """Remove a job whose work is done. Waiting workers are notified, because a slot is free."""
    _run(transaction, lambda queries: queries.log_jobs([(job, "successful", None)]))


def withdraw(transaction: Transaction, job_id: int) -> None:
    """Remove a job, whether or not it is claimed."""
    _run(transaction, lambda queries: queries.mark_job_as_cancelled([_id(job_id)]))


def heartbeat(transaction: Transaction, jobs: list[int]) -> None:
    """Store that the work on these jobs continues."""
    if jobs:
        _run(transaction, lambda queries: queries.update_heartbeat([_id(job) for job in jobs]))


def tidy(transaction: Transaction) -> None:
    """Delete pgqueuer's log. What turns have done is in our own tables."""
    transaction.run("SET LOCAL lock_timeout = '200ms'")  # a backup may hold the table: nobody waits behind this
    _run(transaction, lambda queries: queries.clear_queue_log())


def _id(number: int) -> JobId:
    from pgqueuer import JobId

    return JobId(number)


async def listen(url: str, wake: Callable[[], None]) -> None:
    """Call `wake` whenever a queue changes, until this is cancelled. A lost connection is opened again."""
    import asyncpg

    while True:
        try:
            settings = {"application_name": "toolgate-queue"}
            connection = await asyncpg.connect(address(url), timeout=10, server_settings=settings)
            ended = asyncio.Event()
            connection.add_termination_listener(lambda _connection, ended=ended: ended.set())
            try:
                await _queries(connection).driver.add_listener(_CHANNEL, lambda _payload: wake())
                wake()
                await ended.wait()
            finally:
                connection.terminate()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            logger("distributed").info("queue_not_heard", error=type(error).__name__)
        await asyncio.sleep(_RECONNECT)
