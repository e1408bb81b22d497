"""`DurableFeed`: events of sessions whose turns run on workers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from toolgate.errors import StoreError
from toolgate.log import logger
from toolgate.sessions import live

if TYPE_CHECKING:
    from toolgate.protocol.ports import LiveListener
    from toolgate.sessions import Database, Event, SessionStore
    from toolgate.sessions.live import LiveText, LiveView

_RETRY_SECONDS = 0.5
"""Seconds before an unavailable database is tried again."""
_POLL_SECONDS = 15.0
"""Seconds after which the feed looks for something new without being notified."""


class DurableFeed:
    """The `EventFeed` of a gateway: the log, and the live output that workers write beside it.

    If the database is unavailable for a while, the feed waits. Events have numbers, so none is missed.
    """

    def __init__(self, db: Database, sessions: SessionStore) -> None:
        self._db = db
        self._sessions = sessions
        self._readers: dict[str, _LiveReader] = {}

    async def events(self, session_id: str, after_seq: int = 0, *, limit: int = 1000) -> Sequence[Event]:
        """Return the events of the log after a number."""
        return await self._sessions.events(session_id, after_seq, limit=limit)

    async def follow(self, session_id: str, after_seq: int = 0) -> AsyncGenerator[Event, None]:
        """Yield the events of the log after a number, then every event that any process adds."""
        while True:
            try:
                async with contextlib.aclosing(self._sessions.follow(session_id, after_seq)) as events:
                    async for event in events:
                        after_seq = event.seq
                        yield event
            except StoreError as error:
                logger("distributed").warning("log_not_read", session_id=session_id, error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)

    def listen(self, session_id: str, listener: LiveListener) -> None:
        """Send live output to the listener, beginning with the message that is being written."""
        reader = self._readers.get(session_id)
        if reader is None:
            reader = self._readers[session_id] = _LiveReader(self._db, session_id)
        reader.listeners.append(listener)
        if reader.latest is not None:
            listener.text(reader.latest.base, 0, reader.latest.content)

    def so_far(self, session_id: str) -> tuple[int, str]:
        """Return the number of the event before the message that is being written, and the message's text so far."""
        reader = self._readers.get(session_id)
        if reader is None or reader.latest is None:
            return 0, ""
        return reader.latest.base, reader.latest.content

    def failure(self, session_id: str) -> str:
        """Always empty: workers retry until the end of a turn is stored."""
        return ""

    def leave(self, session_id: str, listener: LiveListener) -> None:
        """Send nothing more to the listener."""
        reader = self._readers[session_id]
        reader.listeners.remove(listener)
        if not reader.listeners:
            reader.task.cancel()
            del self._readers[session_id]


class _LiveReader:
    """Reads the live output of one session whenever there may be more."""

    def __init__(self, db: Database, session_id: str) -> None:
        self.listeners: list[LiveListener] = []
        self.latest: LiveText | None = None
        self._printed: int | None = None
        """The number of the last piece of output that was sent."""
        self._db = db
        self._session_id = session_id
        self.task = asyncio.get_running_loop().create_task(self._watch(), name="toolgate-live")

    async def _watch(self) -> None:
        with self._db.feed.follow(self._session_id) as news:
            while True:
                news.clear()
                try:
                    await self._db.driver.listen()
                    self._publish(await self._db.read(lambda tx: live.read_live(tx, self._session_id, self._printed)))
                except StoreError as error:
                    logger("distributed").info("live_not_read", error=type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_SECONDS):
                        await news.wait()

    def _publish(self, found: LiveView) -> None:
        self._printed = found.number
        if found.text is not None and found.text != self.latest:
            self._publish_text(found.text)
        for piece in found.output:
            for listener in list(self.listeners):
                listener.output(piece.call_id, piece.stream, piece.text, piece.left_out)

    def _publish_text(self, live_text: LiveText) -> None:
        before = self.latest
        same = before is not None and (before.turn_id, before.base) == (live_text.turn_id, live_text.base)
        known = len(before.content) if before is not None and same else 0
        self.latest = live_text
        for listener in list(self.listeners):
            listener.text(live_text.base, known, live_text.content[known:])
