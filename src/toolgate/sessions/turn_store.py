"""The part of the session store that a running turn uses: turns, calls, events, approvals and the to-do list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.content import ImageContent, StoredImage
from toolgate.protocol.modes import ApprovalMode
from toolgate.protocol.record import CallRecord
from toolgate.sessions import approvals, calls, handoff, leases, permissions, pictures, summaries, transcript, turns
from toolgate.sessions.append import append_all
from toolgate.sessions.database import Database
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import EventWriter, as_json
from toolgate.sessions.schema import SPAN
from toolgate.sessions.transcript_cache import CachedTranscript, TranscriptCache
from toolgate.sessions.types import (
    ApprovalRow,
    AskedApproval,
    CallRow,
    Context,
    Event,
    Lease,
    Message,
    Recovery,
    SessionPermissions,
    StartedTurn,
    StoredHandoff,
    Turn,
    TurnStatus,
    TurnTotals,
    Usage,
)

if TYPE_CHECKING:
    from toolgate.sessions.resume import ResumePoint


_MAX_EVENTS = 1000
"""Events that are read at once."""


class TurnStore:
    """The half of the manager that a turn uses; all of it is described in `SessionStore`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._transcripts = TranscriptCache()

    async def _transcript(self, session_id: str) -> CachedTranscript:
        """The whole transcript. Only what was added since the last time is read from the database."""
        before = self._transcripts.get(session_id)
        known = await self._db.read(lambda tx: before.with_tail(tx, session_id))
        self._transcripts.keep(session_id, known)
        return known

    async def context(self, session_id: str) -> Context:
        """What the model reads of a session."""
        before = self._transcripts.get(session_id)

        def unit(tx: Transaction) -> tuple[CachedTranscript, Context]:
            known = before.with_tail(tx, session_id)
            return known, summaries.context(tx, session_id, known)

        known, found = await self._db.read(unit)
        self._transcripts.keep(session_id, known)
        return found

    async def summarise(
        self, lease: Lease, turn_id: str, content: str, steps: int, *, tokens: tuple[int, int], usage: Usage
    ) -> int:
        """Store a summary that replaces the older part of a session for the model."""
        before = self._transcripts.get(lease.session_id)
        return await self._db.write(
            lambda tx: summaries.store(
                tx, lease, turn_id, content, steps, before.with_tail(tx, lease.session_id), tokens, usage
            )
        )

    async def restore_context(self, session_id: str) -> bool:
        """Remove the summary of a session."""
        return await self._db.write(lambda tx: summaries.restore(tx, session_id, None))

    async def start_turn(
        self,
        lease: Lease,
        content: str,
        *,
        request_id: str | None = None,
        parent_id: str | None = None,
        deadline: float | None = None,
    ) -> Turn:
        """Begin a turn with the person's message, after repairing what a crash has left."""
        message = transcript.new_message("user", content, None, None)
        options = {"request_id": request_id, "parent_id": parent_id}
        return await self._db.write(lambda tx: turns.start(tx, lease, message, deadline=deadline, **options))

    async def claim_and_start(
        self,
        session_id: str,
        content: str | None,
        *,
        ttl: float,
        request_id: str | None = None,
        project: str | None = None,
        rewind_to: int | None = None,
        images: Sequence[ImageContent | StoredImage] = (),
    ) -> StartedTurn:
        """Claim a session and start a turn in it."""
        named = tuple(image.stored if isinstance(image, ImageContent) else image for image in images)
        message = None if content is None else transcript.new_message("user", content, None, None, named)
        options: dict[str, Any] = {"request_id": request_id, "project": project, "rewind_to": rewind_to}
        options["images"] = [image for image in images if isinstance(image, ImageContent)]
        starting = asyncio.ensure_future(
            self._db.write(lambda tx: turns.claim_and_start(tx, session_id, message, ttl, **options))
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            started = await starting  # the caller was cancelled: no one else will end this turn
            await self.finish_turn(started.lease, started.turn.id, "cancelled", code="CANCELLED", release=True)
            raise

    async def finish_turn(
        self,
        lease: Lease,
        turn_id: str,
        status: TurnStatus,
        *,
        code: str = "",
        error: str = "",
        usage: Usage | None = None,
        release: bool = False,
        handoff_state: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Turn:
        """End a turn."""

        def unit(tx: Transaction) -> Turn:
            ended = turns.finish(tx, lease, turn_id, status, code=code, error=error, usage=usage, details=details)
            handoff.store(tx, lease.session_id, handoff_state)
            if release:
                leases.release(tx, lease)
            return ended

        return await self._db.write(unit)

    async def recover(self, lease: Lease) -> Recovery:
        """Repair what a crash has left in the lease's session."""
        return await self._db.write(lambda tx: turns.recover(tx, lease))

    async def settle(self, session_id: str) -> Recovery:
        """Repair what a crash has left in a session, if no process has it."""
        return await self._db.write(lambda tx: turns.settle(tx, session_id))

    async def resume_turn(self, lease: Lease, turn_id: str, repeats: Callable[[str], bool]) -> ResumePoint:
        """How far a turn got that another process has begun."""
        from toolgate.sessions import resume

        known = await self._transcript(lease.session_id)
        return await self._db.write(lambda tx: resume.resume(tx, lease, turn_id, repeats, known))

    async def request_cancel(self, session_id: str) -> bool:
        """Ask the process that runs the session's turn to stop it."""
        return await self._db.write(lambda tx: turns.request_cancel(tx, session_id))

    async def turn(self, turn_id: str) -> Turn | None:
        """One turn."""
        return await self._db.read(lambda tx: turns.get(tx, turn_id))

    async def turn_of_request(self, session_id: str, request_id: str) -> Turn | None:
        """The turn that a client's request has started."""
        return await self._db.read(lambda tx: turns.by_request(tx, session_id, request_id))

    async def turns(self, session_id: str) -> list[Turn]:
        """All turns of a session, oldest first."""
        return await self._db.read(lambda tx: turns.of_session(tx, session_id))

    async def turn_totals(self, session_id: str) -> TurnTotals:
        """How many turns a session has, and what they used."""
        return await self._db.read(lambda tx: turns.totals(tx, session_id))

    async def running_sessions(self) -> list[str]:
        """The sessions with a turn that runs, or ran when its process ended."""
        sql = "SELECT DISTINCT session_id FROM turns WHERE status = 'running'"
        return [row[0] for row in await self._db.read(lambda tx: tx.rows(sql))]

    async def calls(self, session_id: str) -> list[CallRow]:
        """All tool calls of a session, in the order in which they were asked for."""
        return await self._db.read(lambda tx: calls.of_session(tx, session_id))

    def recorder(self, lease: Lease, turn_id: str | None = None) -> SessionRecorder:
        """The pipeline's recorder for a turn."""
        return SessionRecorder(self, lease, turn_id)

    async def append(
        self,
        lease: Lease,
        entries: Sequence[Message | CallRecord],
        *,
        turn_id: str | None = None,
        handoff_state: str | None = None,
        images: Sequence[ImageContent] = (),
        usage: Usage | None = None,
    ) -> None:
        """Add messages, their pictures, and records of calls, all of them in one transaction."""
        checked = [transcript.checked(entry) if isinstance(entry, Message) else entry for entry in entries]
        await self._db.write(lambda tx: append_all(tx, lease, checked, turn_id, handoff_state, images, usage))

    async def picture(self, session_id: str, sha256: str) -> tuple[str, bytes] | None:
        """The media type and the bytes of a picture of a session."""
        return await self._db.read(lambda tx: pictures.read(tx, session_id, sha256))

    async def add_picture(self, session_id: str, image: ImageContent) -> None:
        """Store a picture that a message of the person may name."""
        await self._db.write(lambda tx: pictures.add(tx, session_id, image))

    async def append_event(
        self, lease: Lease, kind: str, payload: dict[str, Any], *, turn_id: str | None = None
    ) -> int:
        """Write an event of the caller's own kind to the log; returns its number."""
        text = as_json(payload)
        return await self._db.write(
            lambda tx: EventWriter(tx, lease.session_id, lease, turn_id=turn_id).event(kind, text)[1]
        )

    async def events(self, session_id: str, after_seq: int = 0, *, limit: int = _MAX_EVENTS) -> list[Event]:
        """The log from after a number on."""
        sql = (
            "SELECT session_id, seq, turn_id, kind, version, payload, fence, created_at FROM events "
            f"WHERE place > (SELECT number * {SPAN} FROM sessions WHERE id = ?1) + ?2 "
            f"AND place < (SELECT (number + 1) * {SPAN} FROM sessions WHERE id = ?1) ORDER BY place LIMIT ?3"
        )
        return await self._db.read(lambda tx: [_event(row) for row in tx.rows(sql, session_id, after_seq, limit)])

    async def last_seq(self, session_id: str) -> int:
        """The number of the last event; 0 if there is none."""
        sql = "SELECT next_seq - 1 FROM sessions WHERE id = ?1"
        row = await self._db.read(lambda tx: tx.row(sql, session_id))
        return 0 if row is None else int(row[0])

    async def follow(self, session_id: str, after_seq: int = 0) -> AsyncGenerator[Event, None]:
        """The log from after a number on, and everything that is added, for as long as it is iterated."""
        with self._db.feed.follow(session_id) as news:
            while True:
                await self._db.driver.listen()  # renewed here if the server has ended the connection
                news.clear()
                rows = news.take(after_seq)
                batch = await self.events(session_id, after_seq) if rows is None else [_event(row) for row in rows]
                if len(batch) == _MAX_EVENTS:
                    news.look_again()
                for event in batch:
                    after_seq = event.seq
                    yield event
                if len(batch) < _MAX_EVENTS and not await _wait(news, self._db.driver.polls):
                    news.look_again()

    async def ask(
        self,
        lease: Lease,
        request: ApprovalRequest,
        *,
        turn_id: str | None = None,
        asked_in: tuple[str, str] | None = None,
        timeout: float | None = None,
        once: bool = False,
    ) -> AskedApproval:
        """Store an approval request."""
        options: dict[str, Any] = {"asked_in": asked_in, "timeout": timeout, "once": once}
        return await self._db.write(lambda tx: approvals.ask(tx, lease, turn_id, request, **options))

    async def decide(self, approval_id: str, answer: Approval, *, user: str | None = None) -> bool:
        """Answer an approval request; the first answer counts."""
        return await self._db.write(lambda tx: approvals.decide(tx, approval_id, answer, user))

    async def approval_state(self, approval_id: str) -> tuple[ApprovalRow, float] | None:
        """One approval request, and the seconds that it has waited or had waited when it was answered."""

        def unit(tx: Transaction) -> tuple[ApprovalRow, float] | None:
            row = approvals.get(tx, approval_id)
            return None if row is None else (row, approvals.waited(tx, approval_id))

        return await self._db.read(unit)

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """One approval request."""
        return await self._db.read(lambda tx: approvals.get(tx, approval_id))

    async def approvals(self, session_id: str) -> list[ApprovalRow]:
        """All approval requests of a session, oldest first."""
        return await self._db.read(lambda tx: approvals.of_session(tx, session_id))

    async def pending_approvals(self, session_id: str) -> list[ApprovalRow]:
        """The open approval requests of a session, oldest first."""
        return await self._db.read(lambda tx: approvals.pending(tx, session_id))

    async def stored_handoff(self, session_id: str, project: str | None = None) -> StoredHandoff:
        """State needed to resume the session."""
        return await self._db.read(lambda tx: handoff.read(tx, session_id, project))

    async def permissions(self, session_id: str, project: str | None = None) -> SessionPermissions:
        """What a session may do without asking."""
        return await self._db.read(lambda tx: permissions.read(tx, session_id, project))

    async def switch_approval_mode(self, session_id: str, approval_mode: ApprovalMode) -> None:
        """Switch a session to another approval mode, because its person wants to."""
        wanted = ApprovalMode(approval_mode)
        await self._db.write(lambda tx: permissions.switch(tx, session_id, wanted))

    async def remove_permission(self, session_id: str, permission_id: str) -> bool:
        """Take back what was allowed for the rest of a session."""
        return await self._db.write(lambda tx: permissions.remove(tx, session_id, permission_id))

    def todos(self, lease: Lease) -> SessionTodos:
        """The session's to-do list, as the port of the `todo` tool."""
        return SessionTodos(self._db, lease)

    async def todo_items(self, session_id: str) -> list[dict[str, str]]:
        """The session's to-do list, for reading only."""
        return await _todo_items(self._db, session_id)


async def _wait(news: asyncio.Event, seconds: float | None) -> bool:
    """Wait for news; False if none came in time."""
    try:
        async with asyncio.timeout(seconds):
            return await news.wait()
    except TimeoutError:
        return False


def _event(row: Row) -> Event:
    session_id, seq, turn_id, kind, version, payload, fence, created_at = row
    return Event(
        session_id=session_id,
        seq=seq,
        turn_id=turn_id,
        kind=kind,
        version=version,
        payload=json.loads(payload),
        fence=fence,
        created_at=created_at,
    )


class SessionRecorder:
    """Keeps the records of a turn's calls; each is durable when `record` returns."""

    def __init__(self, store: TurnStore, lease: Lease, turn_id: str | None) -> None:
        self._store = store
        self._lease = lease
        self._turn_id = turn_id

    async def record(self, record: CallRecord) -> None:
        """Store one record; raises `SessionFenced` if another process has taken the session over."""
        await self._store.append(self._lease, [record], turn_id=self._turn_id)


class SessionTodos:
    """The to-do list of a session."""

    def __init__(self, db: Database, lease: Lease) -> None:
        self._db = db
        self._lease = lease

    async def replace(self, items: list[dict[str, str]]) -> None:
        """Store the whole list."""
        lease, text = self._lease, as_json(items)

        def unit(tx: Transaction) -> None:
            EventWriter(tx, lease.session_id, lease).event("todos", f'{{"items":{text}}}')
            tx.run(
                "INSERT INTO todos (session_id, items) VALUES (?1, ?2) "
                "ON CONFLICT (session_id) DO UPDATE SET items = excluded.items",
                lease.session_id,
                text,
            )

        await self._db.write(unit)

    async def items(self) -> list[dict[str, str]]:
        """The list as it is."""
        return await _todo_items(self._db, self._lease.session_id)


async def _todo_items(db: Database, session_id: str) -> list[dict[str, str]]:
    row = await db.read(lambda tx: tx.row("SELECT items FROM todos WHERE session_id = ?1", session_id))
    items: list[dict[str, str]] = [] if row is None else json.loads(row[0])
    return items
