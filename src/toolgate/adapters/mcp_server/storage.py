"""What outlives a client: notes and the record of its calls, in the sessions' database, opened on first use.

A server is started for every conversation of an agent and often only lists its tools: it does not wait for a database
that nobody asks.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from toolgate.protocol.modes import ToolMode
from toolgate.protocol.record import CallRecord
from toolgate.settings import Settings

if TYPE_CHECKING:
    from toolgate.protocol.ports import Recorder
    from toolgate.sessions import Database, Lease, Memory, SessionManager

_LONG = 365 * 24 * 3600.0
"""Seconds: nobody else writes to the session of a client."""


class Keeping:
    """The database of a server, once somebody needs it."""

    def __init__(self, settings: Settings, mode: ToolMode) -> None:
        self.settings = settings
        self.mode = mode
        self._database: Database | None = None
        self._lock = asyncio.Lock()

    async def database(self) -> Database:
        """The database, migrated."""
        async with self._lock:
            if self._database is None:
                from toolgate.sessions import Database

                database = Database(self.settings.database.address)
                await database.migrate()
                self._database = database
            return self._database

    async def sessions(self) -> SessionManager:
        """The sessions; that the operator serves a mode means that it may be had."""
        from toolgate.sessions import SessionManager

        allowed = self.settings.session.model_copy(update={"coding_enabled": True})
        return SessionManager(await self.database(), allowed)

    async def close(self) -> None:
        """Let go of the database."""
        if self._database is not None:
            await self._database.close()


class Notes:
    """The `MemoryStore` of a project."""

    def __init__(self, keeping: Keeping, project: str) -> None:
        self._keeping = keeping
        self._project = project
        self._memory: Memory | None = None

    async def append(self, content: str) -> None:
        """Keep one note."""
        await (await self._opened()).append(content)

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """Find notes."""
        return await (await self._opened()).search(query, limit)

    async def _opened(self) -> Memory:
        if self._memory is None:
            from toolgate.sessions import Memory

            self._memory = Memory(await self._keeping.database(), project=self._project)
        return self._memory


class CallLog:
    """The `Recorder` of one client: its calls are the log of a session of their own."""

    def __init__(self, keeping: Keeping, project: str) -> None:
        self._keeping = keeping
        self._project = project
        self._recorder: Recorder | None = None
        self._sessions: SessionManager | None = None
        self._lease: Lease | None = None
        self._lock = asyncio.Lock()

    async def record(self, record: CallRecord) -> None:
        """Store one record."""
        if self._recorder is None:
            async with self._lock:
                self._recorder = self._recorder or await self._begin()
        await self._recorder.record(record)

    async def close(self) -> None:
        """The client has gone: its session is free."""
        if self._sessions is not None and self._lease is not None:
            await self._sessions.release(self._lease)

    async def _begin(self) -> Recorder:
        self._sessions = await self._keeping.sessions()
        session = await self._sessions.create(self._keeping.mode, title="MCP client", project=self._project)
        self._lease = await self._sessions.try_claim(session.id, ttl=_LONG)
        assert self._lease is not None
        return self._sessions.recorder(self._lease)
