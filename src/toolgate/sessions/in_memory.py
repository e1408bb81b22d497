"""Sessions in memory, for library users who want no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.closing import AsyncClosing
from toolgate.sessions.database import Database
from toolgate.sessions.manager import SessionManager

if TYPE_CHECKING:
    from toolgate.settings import SessionSettings


class InMemorySessions(SessionManager, AsyncClosing):
    """The same store over a database in memory: same behaviour, no file, nothing to set up, nothing to wait for."""

    def __init__(self, settings: SessionSettings | None = None) -> None:
        if settings is None:
            from toolgate.settings import Settings

            settings = Settings.defaults().session
        super().__init__(Database("sqlite:///:memory:"), settings)

    async def aclose(self) -> None:
        """Forget everything."""
        await self._db.close()

    async def close(self) -> None:
        """The same as `aclose`."""
        await self.aclose()
