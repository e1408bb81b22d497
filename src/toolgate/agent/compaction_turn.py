"""`CompactionTurn`: a turn in which the model only summarises the conversation."""

from __future__ import annotations

import asyncio

from toolgate.agent.turn import RunningTurn


class CompactionTurn(RunningTurn):
    """A turn without a message: the model summarises the conversation, because the person asked for it."""

    async def rounds(self) -> None:
        """Write the summary."""
        self._context.load(await self._dependencies.sessions.context(self._lease.session_id))
        self._asking = asyncio.current_task()
        try:
            await self._context.compact()
        except asyncio.CancelledError:
            if self._stopping and self._asking is not None:
                self._asking.uncancel()
            self._check()
            raise
        finally:
            self._asking = None
