"""Stores memory and the record of calls in the sessions' database, which is opened on first use.

An agent starts a server for every conversation and often only lists the tools, so the server does not wait for the
database.
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

_LEASE_SECONDS = 365 * 24 * 3600.0
"""Seconds of the lease: only this client writes to its session."""


class Storage:
    """The database of a server, opened when it is first needed."""

    def __init__(self, settings: Settings, mode: ToolMode) -> None:
        self.settings = settings
        self.mode = mode
        self._database: Database | None = None
        self._lock = asyncio.Lock()

    async def database(self) -> Database:
        """Return the migrated database."""
        async with self._lock:
            if self._database is None:
                from toolgate.sessions import Database

                database = Database(self.settings.database.address)
                await database.migrate()
                self._database = database
            return self._database

    async def sessions(self) -> SessionManager:
        """Return the session manager. It allows the mode that the operator serves."""
        from toolgate.sessions import SessionManager

        allowed = self.settings.session.model_copy(update={"coding_enabled": True})
        return SessionManager(await self.database(), allowed)

    async def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            await self._database.close()


class ProjectMemory:
    """The `MemoryStore` of a project."""

    def __init__(self, storage: Storage, project: str) -> None:
        self._storage = storage
        self._project = project
        self._memory: Memory | None = None

    async def append(self, content: str) -> None:
        """Store one note."""
        await (await self._open()).append(content)

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """Search the notes."""
        return await (await self._open()).search(query, limit)

    async def _open(self) -> Memory:
        if self._memory is None:
            from toolgate.sessions import Memory

            self._memory = Memory(await self._storage.database(), project=self._project)
        return self._memory


class ClientRecorder:
    """The `Recorder` of one client. Its calls are recorded in a session of their own."""

    def __init__(self, storage: Storage, project: str) -> None:
        self._storage = storage
        self._project = project
        self._recorder: Recorder | None = None
        self._sessions: SessionManager | None = None
        self._lease: Lease | None = None
        self._lock = asyncio.Lock()

    async def record(self, record: CallRecord) -> None:
        """Store one record."""
        if self._recorder is None:
            async with self._lock:
                self._recorder = self._recorder or await self._open_session()
        await self._recorder.record(record)

    async def close(self) -> None:
        """Release the session of a client that has disconnected."""
        if self._sessions is not None and self._lease is not None:
            await self._sessions.release(self._lease)

    async def _open_session(self) -> Recorder:
        self._sessions = await self._storage.sessions()
        session = await self._sessions.create(self._storage.mode, title="MCP client", project=self._project)
        self._lease = await self._sessions.try_claim(session.id, ttl=_LEASE_SECONDS)
        assert self._lease is not None
        return self._sessions.recorder(self._lease)
