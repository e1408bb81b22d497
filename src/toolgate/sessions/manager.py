"""`SessionManager`: creates and finds sessions, with their mode, messages and leases."""

from __future__ import annotations

import asyncio
import builtins
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from toolgate.errors import SessionNotFound
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import AnyMode, ApprovalMode, ToolMode
from toolgate.sessions import leases, modes, pruning, transcript
from toolgate.sessions.append import Append
from toolgate.sessions.database import Database
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import ANYONE, EventWriter, as_json, clean, time_of
from toolgate.sessions.managed import ManagedSessions
from toolgate.sessions.session_list import COLUMNS
from toolgate.sessions.types import Lease, Message, Session, Usage

if TYPE_CHECKING:
    from toolgate.settings import SessionSettings

_COLUMNS = f"SELECT {COLUMNS} FROM sessions"
LEASE_SECONDS = 300.0


class SessionManager(ManagedSessions):
    """The store of sessions in a database. Implements `SessionStore`, where everything is described."""

    def __init__(self, db: Database, settings: SessionSettings) -> None:
        super().__init__(db)
        self._default_mode = settings.default_mode
        self.coding_enabled = settings.coding_enabled

    async def create(
        self,
        mode: AnyMode | None = None,
        *,
        title: str = "",
        user: str = "",
        project: str = "",
        parent_id: str | None = None,
        model: str = "",
        approval_mode: ApprovalMode | str = ApprovalMode.ask,
    ) -> Session:
        """Begin a session."""
        wanted = modes.allowed(mode, default=self._default_mode, coding_enabled=self.coding_enabled)
        texts = [clean(text) for text in (title, user, project)]
        approvals = ApprovalMode(approval_mode)
        values = (uuid7(), wanted.value, texts[0] or None, texts[1], texts[2], parent_id, clean(model), approvals.value)
        sql = (
            "INSERT INTO sessions (id, mode, title, user_name, project, parent_id, model, approval_mode, created_at, "
            "updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)"
        )

        def unit(transaction: Transaction) -> float:
            now = time_of(transaction)
            transaction.run(sql, *values, now)
            return now

        now = await self._db.write(unit)
        return self._session((*values[:-2], now, now, None, values[-2], 0, 0, approvals.value, 0))

    async def get(self, session_id: str) -> Session:
        """One session."""
        row = await self._db.read(lambda tx: tx.row(f"{_COLUMNS} WHERE id = ?1", session_id))
        if row is None:
            raise SessionNotFound(f"There is no session {session_id!r}.")
        return self._session(row)

    async def list(
        self, *, user: str | None = None, project: str | None = None, children: bool = False, limit: int = 100
    ) -> list[Session]:
        """Sessions, the latest first."""
        wanted = {"user_name": user, "project": project}
        given = [(name, clean(value)) for name, value in wanted.items() if value is not None]
        conditions = [f"{name} = ?{number}" for number, (name, _) in enumerate(given, 2)]
        where = " AND ".join([*conditions, *([] if children else ["parent_id IS NULL"])])
        sql = f"{_COLUMNS}{f' WHERE {where}' if where else ''} ORDER BY updated_at DESC, id DESC LIMIT ?1"
        rows = await self._db.read(lambda tx: tx.rows(sql, limit, *(value for _, value in given)))
        return [self._session(row) for row in rows]

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        sql, text = "UPDATE sessions SET title = ?2 WHERE id = ?1", clean(title)
        if not await self._db.write(lambda tx: tx.run(sql, session_id, text)):
            raise SessionNotFound(f"There is no session {session_id!r}.")

    async def set_model(self, session_id: str, model: str) -> None:
        """Give a session another model."""
        name = clean(model)

        def unit(transaction: Transaction) -> None:
            writer = EventWriter(transaction, session_id, ANYONE)
            transaction.run("UPDATE sessions SET model = ?2 WHERE id = ?1", session_id, name)
            writer.event("model_changed", as_json({"model": name}))

        await self._db.write(unit)

    async def unused(self, before: float, *, project: str | None = None) -> builtins.list[str]:
        """The sessions that could be removed: not used since `before`, and without a running turn."""
        wanted = None if project is None else clean(project)
        return await self._db.read(lambda tx: pruning.candidates(tx, before, wanted))

    async def remove(self, session_id: str, before: float) -> bool:
        """Remove a session for good, with those of its sub-agents; False if it was used since `before` after all.

        Whole sessions are removed from the log, never single events. The newest session and the session of the last
        event stay, so that no number is used twice while the log is read.
        """
        return await self._db.write(lambda tx: pruning.remove(tx, session_id, before))

    async def get_mode(self, session_id: str) -> ToolMode:
        """The mode that the session has now; raises nothing."""
        try:
            row = await self._db.read(lambda tx: tx.row("SELECT mode FROM sessions WHERE id = ?1", session_id))
        except Exception as error:  # noqa: BLE001 - fail-closed: whatever keeps the mode from being read means chat_safe
            modes.warn_unreadable(session_id, str(error), type(error).__name__)
            return modes.SAFE
        if row is None:
            modes.warn_unreadable(session_id, "there is no such session", SessionNotFound.__name__)
            return modes.SAFE
        modes.warn_unless_plain(session_id, row[0], coding_enabled=self.coding_enabled)
        return modes.effective(row[0], coding_enabled=self.coding_enabled)

    async def append_message(
        self,
        session_id: str,
        role: str,
        content: str | None,
        *,
        lease: Lease | None = None,
        turn_id: str | None = None,
        tool_calls: Iterable[ToolCall | Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        usage: Usage | None = None,
    ) -> int:
        """Add a message."""
        message = transcript.new_message(role, content, tool_calls, tool_call_id)
        return await self._db.write(Append(session_id, message, lease, turn_id, usage))

    async def messages(self, session_id: str) -> builtins.list[Message]:
        """The transcript for a provider."""
        return list(transcript.valid((await self._transcript(session_id)).messages))

    async def history(self, session_id: str) -> builtins.list[Message]:
        """The transcript for people."""
        return await self._db.read(lambda tx: transcript.shown(tx, session_id))

    async def try_claim(self, session_id: str, ttl: float = LEASE_SECONDS) -> Lease | None:
        """Take the session, unless someone has it."""
        if not 0 < ttl < math.inf:
            raise ValueError("ttl must be a finite number of seconds above 0")
        claiming = asyncio.ensure_future(self._db.write(lambda tx: leases.claim(tx, session_id, ttl)))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claimed = await claiming  # the caller was cancelled and will never release this lease
            if claimed is not None:
                await self.release(claimed)
            raise

    async def renew(self, lease: Lease, ttl: float = LEASE_SECONDS) -> Lease:
        """Extend the lease."""
        if not 0 < ttl < math.inf:
            raise ValueError("ttl must be a finite number of seconds above 0")
        return await self._db.write(lambda tx: leases.renew(tx, lease, ttl))

    async def release(self, lease: Lease) -> bool:
        """Give the session back."""
        return await self._db.write(lambda tx: leases.release(tx, lease))
