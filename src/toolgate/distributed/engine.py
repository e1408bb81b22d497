"""dbos: it keeps the queues and starts workflows on workers. Only this module and `workflows` know about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.distributed.names import APPLICATION, WORKFLOW, version
from toolgate.distributed.notify import QueueListener, notify
from toolgate.distributed.options import Options
from toolgate.distributed.workflows import check
from toolgate.errors import StoreError
from toolgate.sessions.driver import Transaction
from toolgate.sessions.postgres import PostgresTransaction

if TYPE_CHECKING:
    from dbos import DBOSClient

    from toolgate.sessions import Database

_COUNTED = 0.03
"""Seconds that dbos needs to note the end of a workflow that has returned."""

Play = Callable[[str, str], Awaitable[None]]
"""Runs a turn, given its id and the id of its session."""


def address(url: str) -> str:
    """The database URL in the form that dbos reads."""
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise StoreError(
            "Turns on several machines need PostgreSQL: set TOOLGATE_DATABASE_URL to postgresql://user@host/name."
        )
    return f"postgresql://{rest}"


def _import_dbos() -> Any:
    try:
        import dbos
    except ModuleNotFoundError as error:
        raise StoreError(
            "Turns on several machines need more packages: pip install 'toolgate[distributed]'."
        ) from error
    logging.getLogger("dbos").setLevel(logging.WARNING)
    return dbos


class TurnQueue:
    """Puts turns into queues, in the caller's transaction."""

    def __init__(self, url: str) -> None:
        self._url = address(url)
        self._made: DBOSClient | None = None

    @property
    def _client(self) -> DBOSClient:
        if self._made is None:  # it only builds statements; `lazy` keeps it from connecting
            self._made = _import_dbos().DBOSClient(
                system_database_url=self._url, application_name=APPLICATION, lazy=True
            )
        return self._made

    async def prepare(self, db: Database) -> None:
        """Create the tables of dbos if they are missing, and check that this version knows them."""
        dbos = _import_dbos()
        try:
            await asyncio.to_thread(dbos.DBOS.migrate, self._url)
        except Exception as error:
            raise StoreError(f"The tables of dbos could not be made ({type(error).__name__}: {error}).") from error
        await db.read(check)

    def enqueue(self, transaction: Transaction, turn_id: str, session_id: str, *, queue: str, share: str) -> None:
        """Put a turn into a queue. `share` is the user whose share of the workers it uses."""
        assert isinstance(transaction, PostgresTransaction)
        self._client.enqueue_in_transaction(
            transaction.connection,
            {
                "workflow_name": WORKFLOW,
                "workflow_id": turn_id,
                "queue_name": queue,
                "queue_partition_key": share or "-",
                "app_version": version(),
                "serialization_type": _import_dbos().WorkflowSerializationFormat.PORTABLE,
            },
            turn_id,
            session_id,
        )
        notify(transaction, queue)

    async def forget(self, turns: list[str]) -> None:
        """Delete the workflows of turns that have ended."""
        await asyncio.to_thread(self._client.delete_workflows, turns)

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.destroy()
            self._made = None


class Engine:
    """The worker's side of dbos. A process has one; its workflows run on the event loop that called `start`."""

    def __init__(self, url: str, worker_id: str, options: Options) -> None:
        self._url = address(url)
        self._worker_id = worker_id
        self._options = options
        self._dbos: Any = None
        self._bell: QueueListener | None = None

    async def start(self, run_turn: Play, turns: Sequence[str], agents: Sequence[str]) -> None:
        """Claim turns from these queues from now on."""
        dbos = _import_dbos()
        self._dbos = dbos.DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._url,
                "application_version": version(),
                "executor_id": self._worker_id,
                "log_level": "WARNING",
                "use_listen_notify": False,
                "sys_db_pool_size": 5,
            }
        )

        log = logging.getLogger("dbos")  # its log lines go where all others go, and are masked like them
        log.propagate, log.handlers = True, []

        async def turn(turn_id: str, session_id: str) -> None:
            await run_turn(turn_id, session_id)

        dbos.DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)(turn)
        dbos.DBOS.listen_queues([*turns, *agents])
        dbos.DBOS.launch()
        self._bell = QueueListener([*turns, *agents])
        for event in self._dbos.background_thread_stop_events:
            self._bell.hang(event)
        self._bell.listen(self._url)
        options = self._options
        for queue in turns:
            await self._register(queue, options.slots, options.user_turns)
        for queue in agents:
            await self._register(queue, options.agent_slots, options.user_agents)

    async def _register(self, queue: str, slots: int, share: int) -> None:
        await self._dbos.register_queue_async(
            queue,
            worker_concurrency=slots,
            partition_concurrency=share,
            polling_interval_sec=self._options.poll,
            on_conflict="always_update",
        )

    def stop_taking(self) -> None:
        """Claim no more turns."""
        if self._dbos is not None:
            for event in self._dbos.background_thread_stop_events:
                event.set()
        if self._bell is not None:
            self._bell.notify()

    def freed(self) -> None:
        """Note that a turn has ended and its slot is free; dbos notices a moment later."""
        if self._bell is not None:
            asyncio.get_running_loop().call_later(_COUNTED, self._bell.notify)

    async def stop(self) -> None:
        """End the threads and close the connections."""
        if self._bell is not None:
            await self._bell.close()
        await asyncio.to_thread(_import_dbos().DBOS.destroy, destroy_registry=True)
