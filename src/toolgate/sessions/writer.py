"""The thread that writes to a SQLite file: one transaction for everything that was submitted meanwhile.

A commit waits for the disk, so it must not run in the event loop. One commit per write would make sessions wait for
each other. So units queue up while a commit runs, and the next commit takes all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from toolgate.sessions import faults
from toolgate.sessions.append import Append, together
from toolgate.sessions.connections import SqliteTransaction, connect, identity
from toolgate.sessions.driver import Unit
from toolgate.sessions.feed import Feed
from toolgate.workspace.threads import start_thread

T = TypeVar("T")
_MAX_UNITS = 512
"""Units in one transaction."""


class _Job:
    """A unit of work, and the future of its caller."""

    __slots__ = ("error", "future", "result", "unit")

    def __init__(self, unit: Unit[Any], future: asyncio.Future[Any]) -> None:
        self.unit = unit
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None


class Writer:
    """Runs units in order, many in one commit."""

    def __init__(self, path: str, feed: Feed) -> None:
        self._path = path
        self._feed = feed
        self._queue: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._gathering: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def write(self, unit: Unit[T]) -> asyncio.Future[T]:
        """Run a unit; the future is done when it is durable."""
        if self._closed:
            raise faults.closed()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        job = _Job(unit, future)
        gathering = self._gathering.get(loop)
        if gathering is not None:
            gathering.append(job)
        else:
            # units that are submitted in the same turn of the loop go into the same commit
            self._gathering[loop] = [job]
            loop.call_soon(self._hand_over, loop)
        return future

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        jobs = self._gathering.pop(loop)
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="toolgate-writer", daemon=True)
            try:
                start_thread(thread)
            except (MemoryError, RuntimeError) as error:  # without the thread, nothing would read the queue
                for job in jobs:
                    job.error = error
                _settle(jobs)
                return
            self._thread = thread
        self._queue.put(jobs)

    async def close(self) -> None:
        """Write the units that were handed over, then end the thread."""
        self._closed = True
        await asyncio.sleep(0)  # lets `_hand_over` run for units of this turn of the loop
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
            self._thread = None

    def _work(self) -> None:
        while (jobs := self._queue.get()) is not None:
            while len(jobs) < _MAX_UNITS and not self._queue.empty():
                more = self._queue.get()
                if more is None:
                    self._queue.put(None)
                    break
                jobs += more
            self._commit(jobs)
            _deliver(jobs)
        if self._connection is not None:
            self._connection.close()

    def _commit(self, jobs: list[_Job]) -> None:
        """Run all units in one transaction. If one fails, run each in its own, so that the others are written."""
        try:
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
        except Exception as error:  # noqa: BLE001 - a thread that ended here would leave everybody waiting
            for job in jobs:
                job.error = self._explained(error)
            return
        if not self._run(connection, jobs) and len(jobs) > 1:
            for job in jobs:
                self._commit([job])

    def _connected(self) -> sqlite3.Connection:
        """The connection. Raises if the path names another file by now: writes would go into a file without a name."""
        file = identity(self._path)
        if self._connection is not None and file != self._file:
            self._connection.close()
            self._connection = None
            raise faults.replaced(self._path)
        if self._connection is None:
            self._connection, self._file = connect(self._path), file
        return self._connection

    def _run(self, connection: sqlite3.Connection, jobs: list[_Job]) -> bool:
        """Run units in the transaction that has begun; return whether it was committed."""
        transaction = SqliteTransaction(connection)
        try:
            wanted = [job for job in jobs if not job.future.cancelled()]
            for kind, group in itertools.groupby(wanted, lambda job: type(job.unit)):
                _run_group(transaction, list(group), together if kind is Append else None)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - a unit may raise anything; it is raised for the caller of the write
            with contextlib.suppress(sqlite3.Error):  # some failures have rolled back already
                connection.execute("ROLLBACK")
            jobs[-1].error = self._explained(error)
            return False
        self._feed.committed(transaction.sessions, transaction.published)
        return True

    def _explained(self, error: Exception) -> Exception:
        return faults.from_sqlite(error, self._path) if isinstance(error, sqlite3.Error) else error


def _run_group(transaction: SqliteTransaction, jobs: list[_Job], bulk: Callable[..., list[Any]] | None) -> None:
    """Run consecutive units of one type; with `bulk`, all of them at once."""
    if bulk is not None and len(jobs) > 1:
        results = bulk(transaction, [job.unit for job in jobs])
    else:
        results = [job.unit(transaction) for job in jobs]
    for job, result in zip(jobs, results, strict=True):
        job.result, job.error = result, None


def _deliver(jobs: list[_Job]) -> None:
    """Wake the waiting tasks, once for each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        loops.setdefault(job.future.get_loop(), []).append(job)
    for loop, mine in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop has ended, with everything that waited in it
            loop.call_soon_threadsafe(_settle, mine)


def _settle(jobs: list[_Job]) -> None:
    """Give the callers that still wait their results or errors."""
    for job in jobs:
        if job.future.done():  # the caller was cancelled
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
