"""`UnstoredResults`: keeps results of turns that could not be stored, and stores them when the store works again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from toolgate.agent.handoff import SessionHandoff
from toolgate.agent.turn_result import TurnResult, store_result
from toolgate.errors import SessionBusy, SessionError, StoreError, ToolgateError
from toolgate.log import logger
from toolgate.protocol.record import CallRecord
from toolgate.sessions import Lease, Message, SessionStore

_FIRST_WAIT = 0.2
_MAX_WAIT = 5.0
_LAST_TRY = 5.0
"""Seconds that a process which shuts down waits for the store."""


class UnstoredResult:
    """The end of one turn, with the messages and records that could not be stored either."""

    def __init__(
        self,
        lease: Lease,
        turn_id: str,
        result: TurnResult,
        entries: list[Message | CallRecord],
        handoff: SessionHandoff | None = None,
    ) -> None:
        self.lease = lease
        self.turn_id = turn_id
        self.result = result
        self.entries = entries
        self.handoff = handoff
        self.stored = False
        self.trying = asyncio.Lock()


class UnstoredResults:
    """Stores results in the background. A session has at most one: its next turn starts after it is stored."""

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self._ends: dict[str, tuple[UnstoredResult, asyncio.Task[None]]] = {}

    @property
    def session_ids(self) -> Sequence[str]:
        """The sessions whose last turn has ended without its end being stored."""
        return list(self._ends)

    def keep(self, end: UnstoredResult) -> None:
        """Store the end as soon as the store works."""
        logger("agent").error("turn_end_not_stored", turn_id=end.turn_id, reason=end.result.message)
        task = asyncio.get_running_loop().create_task(self._retry(end), name="toolgate-unstored-end")
        self._ends[end.lease.session_id] = end, task

    async def store(self, session_id: str) -> None:
        """Store a session's end now, if there is one; raises the store's error."""
        kept = self._ends.get(session_id)
        if kept is not None:
            await self._store(kept[0])

    async def aclose(self) -> None:
        """Try once more, then give up."""
        for end, task in list(self._ends.values()):
            task.cancel()
            with contextlib.suppress(ToolgateError, TimeoutError):
                async with asyncio.timeout(_LAST_TRY):
                    await self._store(end)
            if not end.stored:
                logger("agent").error("turn_end_lost", turn_id=end.turn_id, reason=end.result.message)

    async def _retry(self, end: UnstoredResult) -> None:
        wait = 0.0
        while not end.stored:
            await asyncio.sleep(wait)
            wait = min(max(2 * wait, _FIRST_WAIT), _MAX_WAIT)
            with contextlib.suppress(StoreError, SessionBusy):  # the store is full, locked or unavailable: try later
                await self._store(end)

    async def _store(self, end: UnstoredResult) -> None:
        async with end.trying:
            if end.stored:
                return
            try:
                await self._write(end)
                logger("agent").info("turn_end_stored", turn_id=end.turn_id)
            except SessionBusy:
                raise
            except SessionError as error:  # another process has ended the turn, or the session was removed
                logger("agent").error("turn_end_lost", turn_id=end.turn_id, reason=str(error))
            end.stored = True
            self._ends.pop(end.lease.session_id, None)

    async def _write(self, end: UnstoredResult) -> None:
        if end.entries:
            await self._sessions.append(end.lease, end.entries, turn_id=end.turn_id)
            end.entries.clear()
        await store_result(self._sessions, end.lease, end.turn_id, end.result, end.handoff)
