"""Notices what other processes write to the same SQLite file, with one poll for all followers."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable

from toolgate.errors import StoreError
from toolgate.log import logger
from toolgate.sessions.feed import Feed

_POLL_SECONDS = 0.25
"""Seconds between two polls."""
_MAX_EVENTS = 10_000

Read = Callable[[Callable[[], dict[str, int]]], Awaitable[dict[str, int]]]
"""Runs a function in a thread that may wait for the disk."""


class FileWatch:
    """Polls the end of the log while there are followers, and wakes the followers of the sessions that have grown."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], in_thread: Read, feed: Feed) -> None:
        self._connect = connect
        self._in_thread = in_thread
        self._feed = feed
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None
        self._last = 0
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def listen(self) -> None:
        """Start polling. The caller reads what was written before this returns."""
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._loop is not loop:
            self._loop = loop
            await self._in_thread(self._read_new)
            self._task = loop.create_task(self._poll(), name="toolgate-file-watch")

    async def _poll(self) -> None:
        while self._feed.followed:
            await asyncio.sleep(_POLL_SECONDS)
            try:
                self._feed.announced(await self._in_thread(self._read_new))
            except StoreError as error:
                logger("sessions").warning("log_not_read", error=type(error).__name__)

    def _read_new(self) -> dict[str, int]:
        """The sessions that have new events since the last poll, and the number of the last event of each."""
        if self._connection is None:
            self._connection = self._connect()
            row = self._connection.execute("SELECT MAX(id) FROM events").fetchone()
            self._last = row[0] or 0
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return {}
        self._version = version
        sql = f"SELECT id, session_id, seq FROM events WHERE id > ? ORDER BY id LIMIT {_MAX_EVENTS}"
        rows = self._connection.execute(sql, (self._last,)).fetchall()
        if len(rows) == _MAX_EVENTS:
            self._version = None  # there may be more
        if rows:
            self._last = rows[-1][0]
        return {session_id: seq for _, session_id, seq in rows}

    async def close(self) -> None:
        """Stop polling."""
        if self._task is not None and self._loop is asyncio.get_running_loop():
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._task = None

    def stop_watching(self) -> None:
        """Close the connection. No thread may use it any more: it would read freed memory."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
