"""Text in the making: a worker writes it beside the log, gateways show it; losing it loses nothing.

One row a session holds what the model has said since its last message. It is in an unlogged table, is rewritten at
most ten times a second, and is gone with the turn: what counts is the message, which is in the log before it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from toolgate.agent.events import AgentEvent, TextChunk
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.sessions import Database
from toolgate.sessions.driver import Transaction
from toolgate.sessions.log import clean

_PAUSE = 0.1
"""Seconds between two writes."""
_LONGEST = 256 * 1024
"""Characters of an answer that are shown before it is whole."""


@dataclass(frozen=True, slots=True)
class Live:
    """What the model is saying."""

    turn_id: str
    base: int
    """The event of the log that the message comes after."""
    content: str
    """All of it so far."""


def read(transaction: Transaction, session_id: str) -> Live | None:
    """What is being said in a session, if anything is."""
    row = transaction.row("SELECT turn_id, base, content FROM live WHERE session_id = ?1", session_id)
    return None if row is None else Live(*row)


class LiveWriter:
    """Takes the events of a turn and writes its text, now and then, for others to see."""

    def __init__(self, db: Database, session_id: str, turn_id: str, position: Callable[[], int]) -> None:
        """`position` tells the last event of the log that belongs to the turn."""
        self._db = db
        self._session_id = session_id
        self._turn_id = turn_id
        self._position = position
        self._base = 0
        self._text = ""
        self._written = 0
        self._task: asyncio.Task[None] | None = None

    def emit(self, event: AgentEvent) -> None:
        """Take one event: text is written a little later; anything else ends the message."""
        if not isinstance(event, TextChunk):
            self._text = ""
            return
        if not self._text:
            self._base, self._written = self._position(), 0
        if len(self._text) < _LONGEST:
            self._text += clean(event.content)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _write(self) -> None:
        """Write until there is nothing new."""
        while True:
            await asyncio.sleep(_PAUSE)
            if len(self._text) <= self._written:
                return
            live = Live(self._turn_id, self._base, self._text)
            self._written = len(self._text)
            try:
                await self._db.write(lambda tx, live=live: _keep(tx, self._session_id, live))  # type: ignore[misc]
            except ToolgateError as error:
                logger("distributed").info("live_text_not_shown", error=type(error).__name__)


def _keep(transaction: Transaction, session_id: str, live: Live) -> None:
    transaction.run(
        "INSERT INTO live (session_id, turn_id, base, content) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (session_id) DO UPDATE SET turn_id = excluded.turn_id, base = excluded.base, "
        "content = excluded.content",
        *(session_id, live.turn_id, live.base, live.content),
    )
    transaction.touched(session_id, 0)
