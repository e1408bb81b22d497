"""`DurableRunner`: the `TurnRunner` of a gateway whose turns run on workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from toolgate.agent.compaction import check_message
from toolgate.distributed import dispatches, limits
from toolgate.distributed import queue as turn_queue
from toolgate.distributed.names import turns_queue, workspace_of
from toolgate.errors import RequestRepeated, SessionNotFound, StoreError
from toolgate.sessions import transcript, turns
from toolgate.text.redaction import mask, secrets_of

if TYPE_CHECKING:
    from toolgate.distributed.options import ClusterOptions
    from toolgate.protocol.content import StoredImage
    from toolgate.sessions import Database, Turn
    from toolgate.sessions.driver import Transaction
    from toolgate.sessions.types import Message
    from toolgate.settings import Settings

T = TypeVar("T")

_MAX_SHARE = 0.9
"""The part of the context that one message may take; the rest is for the prompt and the tools."""
WRITE_SECONDS = 15.0
"""Seconds that a request waits for the database."""


class DurableRunner:
    """Submits turns to workers. An accepted turn runs to its end, even if this process ends."""

    def __init__(self, db: Database, url: str, options: ClusterOptions, settings: Settings) -> None:
        self._db = db
        self._options = options
        self._url = turn_queue.address(url)
        self._secrets = secrets_of(settings)
        self._max_tokens = int(min(settings.agent.context_tokens, settings.model.context_tokens or 2**40) * _MAX_SHARE)
        self.before_shutdown: Callable[[], Awaitable[None]] | None = None
        """Called first when this process shuts down, if it also runs turns."""

    async def start(self) -> None:
        """Create the queue's tables if they are missing."""
        await turn_queue.prepare(self._db, self._url)

    async def submit(
        self,
        session_id: str,
        content: str | None,
        *,
        request_id: str | None = None,
        rewind_to: int | None = None,
        images: Sequence[StoredImage] = (),
    ) -> Turn:
        """Start a turn with a person's message and return it; it is durable and in its queue by then.

        A turn without a message summarises the session. These errors start nothing: `SessionBusy` while a turn of the
        session runs, `LimitReached` (a `SessionBusy`), `RequestRepeated`, `SessionNotFound`, `MessageTooLarge`,
        `StoreError`.
        """
        message = None
        if content is not None:
            message = transcript.new_message("user", mask(content, self._secrets), None, None, tuple(images))
            check_message(message.content, self._max_tokens, images)
        return await _in_time(self._db.write(lambda tx: self._submit(tx, session_id, message, request_id, rewind_to)))

    async def cancel(self, session_id: str) -> bool:
        """End the turn of a session, whichever process runs it; return whether there was one."""
        return await _in_time(self._db.write(lambda tx: dispatches.cancel(tx, session_id)))

    async def drain(self, _seconds: float) -> int:
        """Wait for the turns that run in this process; all others continue without it."""
        if self.before_shutdown is not None:
            await self.before_shutdown()
        return 0

    async def aclose(self) -> None:
        """Nothing to close: the turns continue."""

    def _submit(
        self,
        transaction: Transaction,
        session_id: str,
        message: Message | None,
        request_id: str | None,
        rewind_to: int | None = None,
    ) -> Turn:
        row = transaction.row("SELECT user_name, project FROM sessions WHERE id = ?1", session_id)
        if row is None:
            raise SessionNotFound(f"There is no session {session_id!r}.")
        user, workspace = row[0], workspace_of(row[1])
        earlier = None if request_id is None else turns.by_request(transaction, session_id, request_id)
        if earlier is not None:
            raise RequestRepeated(f"This request has started a turn before ({earlier.status}).", earlier.id)
        limits.check(transaction, user, workspace, self._options)
        origin = dispatches.TurnOrigin(user=user, workspace=workspace, queue=turns_queue(workspace))
        return dispatches.submit(transaction, session_id, message, origin, request_id=request_id, rewind_to=rewind_to)


async def _in_time(writing: Awaitable[T]) -> T:
    """Return the result of a write. Raise `StoreError` if it takes too long, because a person is waiting."""
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            return await writing
    except TimeoutError:
        raise StoreError(
            f"The database did not answer within {WRITE_SECONDS:g} s, so the request may or may not be stored. "
            "Look at the session before you send it again."
        ) from None
