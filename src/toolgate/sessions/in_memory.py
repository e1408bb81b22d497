"""`InMemorySessions`: a session store without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.closing import AsyncClosing
from toolgate.sessions.database import Database
from toolgate.sessions.manager import SessionManager

if TYPE_CHECKING:
    from toolgate.settings import SessionSettings


class InMemorySessions(SessionManager, AsyncClosing):
    """A `SessionManager` with a database in memory: the same behaviour, without a file."""

    def __init__(self, settings: SessionSettings | None = None) -> None:
        if settings is None:
            from toolgate.settings import Settings

            settings = Settings.defaults().session
        super().__init__(Database("sqlite:///:memory:"), settings)

    async def aclose(self) -> None:
        """Close the database, which deletes the sessions."""
        await self._db.close()

    async def close(self) -> None:
        """The same as `aclose`."""
        await self.aclose()
