"""Live text of turns: a worker writes what the model says before it is in the log, at most ten times per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolgate.agent.events import AgentEvent, TextChunk, ToolOutput, ToolResultInfo
from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.sessions import Database, Lease
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import clean
from toolgate.sessions.live import LiveText
from toolgate.sessions.live_output import OutputBuffer, OutputChunk, OutputWriter

_PAUSE = 0.1
"""Seconds between two writes."""
_LONG_PAUSE = 0.5
"""Seconds between two writes while a command prints more than can be written."""
_MAX_CHARACTERS = 256 * 1024
"""Characters of an answer that are shown before it is complete."""
_CLOSE_SECONDS = 2.0
"""Seconds that a write may still take after the turn has ended."""


class LiveWriter:
    """Collects the live output of a turn and writes it at intervals."""

    def __init__(self, db: Database, lease: Lease, turn_id: str, position: Callable[[], int]) -> None:
        """`position` returns the number of the turn's last event in the log."""
        self._db = db
        self._lease = lease
        self._turn_id = turn_id
        self._position = position
        self._base = 0
        self._text = ""
        self._written = 0
        self._printed = OutputBuffer()
        self._printer = OutputWriter(lease, turn_id)
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def emit(self, event: AgentEvent) -> None:
        """Take one event. Text and output are written a little later; any other event ends the message."""
        if isinstance(event, TextChunk):
            if not self._text:
                self._base, self._written = self._position(), 0
            if len(self._text) < _MAX_CHARACTERS:
                self._text += clean(event.content)
        elif isinstance(event, ToolOutput):
            self._printed.add(event.call_id, event.stream, event.text)
        else:
            self._text = ""
            if isinstance(event, ToolResultInfo):
                self._printed.forget()
            return
        if not self._closing.is_set() and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._write(), name="toolgate-live-writer")

    async def close(self) -> None:
        """Stop writing."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _write(self) -> None:
        """Write until there is nothing new."""
        pause = _PAUSE
        while not await _set_within(self._closing, pause):
            message, printed = self._unwritten(), self._printed.take()
            if message is None and not printed:
                return
            pause = _LONG_PAUSE if any(piece.left_out for piece in printed) else _PAUSE
            try:
                numbers = await self._db.write(lambda tx, new=(message, printed): self._store(tx, *new))  # type: ignore[misc]
                self._printer.note(numbers)
            except ToolgateError as error:
                logger("distributed").info("not_shown_live", error=type(error).__name__)

    def _unwritten(self) -> LiveText | None:
        """The message that is being written, if it has grown since the last write."""
        if len(self._text) <= self._written:
            return None
        self._written = len(self._text)
        return LiveText(self._turn_id, self._base, self._text)

    def _store(
        self, transaction: Transaction, message: LiveText | None, printed: list[OutputChunk]
    ) -> list[tuple[int, int]]:
        """Write what is new, unless another worker has the session by now."""
        lease = self._lease
        if message is not None:
            transaction.run(
                "INSERT INTO live (session_id, turn_id, base, content) SELECT id, ?4, ?5, ?6 FROM sessions "
                "WHERE id = ?1 AND fence = ?2 AND lease_owner = ?3 ON CONFLICT (session_id) DO UPDATE "
                "SET turn_id = excluded.turn_id, base = excluded.base, content = excluded.content",
                *(lease.session_id, lease.fence, lease.owner, message.turn_id, message.base, message.content),
            )
        transaction.touched(lease.session_id, 0)
        return self._printer.write(transaction, printed)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event is set within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
