"""Notifications for queues: workers look into a queue as soon as a turn is put into it, instead of at the next poll.

dbos polls its queues. Polling often enough for a person not to notice would cost a tenth of a processor while idle. The
polling threads of dbos sleep by waiting for the event that ends them, so this module gives that event a `wait` that a
notification ends, too. If a later dbos sleeps in another way, notifications have no effect and polling remains.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.sessions.driver import Transaction

_CHANNEL = "toolgate_queue"
_JITTER = 0.02
"""Seconds over which workers spread their reaction, so that they do not all lock the same row."""
_AGAIN = 1.0


def notify(transaction: Transaction, queue: str) -> None:
    """Notify workers, when the transaction commits, that the queue has a turn."""
    transaction.rows("SELECT pg_notify(?1, ?2)", _CHANNEL, queue)


class QueueListener:
    """Wakes the threads of this process that poll queues."""

    def __init__(self, queues: Iterable[str]) -> None:
        self._rings = {queue: threading.Event() for queue in queues}
        self._hearing: asyncio.Task[None] | None = None

    def hang(self, stop: threading.Event) -> None:
        """Let threads that wait for `stop` react to notifications."""
        plain = stop.wait

        def wait(timeout: float | None = None) -> bool:
            rung = self._rings.get(threading.current_thread().name.removeprefix("queue-worker-"))
            if rung is None:
                return plain(timeout)
            rung.wait(timeout)
            rung.clear()
            return stop.is_set()

        stop.wait = wait  # type: ignore[method-assign]

    def notify(self, queue: str | None = None) -> None:
        """Wake the threads that poll a queue, or all threads if none is given."""
        for name, rung in self._rings.items():
            if queue is None or name == queue:
                rung.set()

    def listen(self, url: str) -> None:
        """Listen for notifications of other processes."""
        self._hearing = asyncio.get_running_loop().create_task(self._listen(url), name="toolgate-bell")

    async def close(self) -> None:
        """Stop listening."""
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.wait({self._hearing})

    async def _listen(self, url: str) -> None:
        import asyncpg  # type: ignore[import-untyped]

        while True:
            try:
                connection = await asyncpg.connect(
                    url, timeout=10, server_settings={"application_name": "toolgate-bell"}
                )
                ended = asyncio.Event()
                connection.add_termination_listener(lambda _connection, ended=ended: ended.set())
                try:
                    await connection.add_listener(_CHANNEL, self._heard)
                    self.notify()
                    await ended.wait()
                finally:
                    connection.terminate()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                logger("distributed").info("bell_not_heard", error=type(error).__name__)
            await asyncio.sleep(_AGAIN)

    def _heard(self, _connection: Any, _pid: int, _channel: str, queue: object) -> None:
        asyncio.get_running_loop().call_later(random.random() * _JITTER, self.notify, str(queue))
