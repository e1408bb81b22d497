"""`ManagedSessions`: the part of the session manager that people use between turns."""

from __future__ import annotations

import builtins
from typing import Any

from toolgate.errors import SessionBusy, SessionNotFound
from toolgate.protocol.content import StoredImage
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import fork, leases, modes, permissions, pruning, rewind, session_list, turns
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import time_of
from toolgate.sessions.turn_store import TurnStore
from toolgate.sessions.types import Lease, ListedSession, Session

_LEASE_SECONDS = 30.0
"""Seconds of a lease that is released in the same transaction."""


class ManagedSessions(TurnStore):
    """Implements `SessionManagement`, where everything is described."""

    coding_enabled = False
    """Whether the operator lets sessions be made in `coding`."""

    async def find(
        self, user: str, *, search: str = "", archived: bool | None = False, limit: int = 100
    ) -> builtins.list[ListedSession]:
        """A user's sessions that have a turn."""
        options: dict[str, Any] = {"archived": archived, "search": search, "limit": limit}
        found = await self._db.read(lambda tx: session_list.find_sessions(tx, user, **options))
        return [
            ListedSession.model_validate({"session": self._session(row), "status": status, "snippet": snippet})
            for row, status, snippet in found
        ]

    async def latest(self, user: str, project: str, mode: ToolMode | None, *, interactive: bool) -> Session | None:
        """The session of a user in a project that was used last."""
        options: dict[str, Any] = {"mode": None if mode is None else mode.value, "interactive": interactive}
        row = await self._db.read(lambda tx: session_list.latest_session(tx, user, project, **options))
        return None if row is None else self._session(row)

    async def archive(self, session_id: str, *, archived: bool) -> None:
        """Take a session out of the list, or put it back."""

        def unit(transaction: Transaction) -> int:
            when = time_of(transaction) if archived else None
            return transaction.run("UPDATE sessions SET archived_at = ?2 WHERE id = ?1", session_id, when)

        if not await self._db.write(unit):
            raise SessionNotFound(f"There is no session {session_id!r}.")

    async def delete(self, session_id: str) -> builtins.list[str]:
        """Remove a session for good."""
        return await self._db.write(lambda tx: pruning.delete(tx, session_id))

    async def fork(self, session_id: str, seq: int | None = None) -> Session:
        """Make a new session from the beginning of another one."""
        new_id = uuid7()

        def unit(transaction: Transaction) -> Row:
            row = transaction.row("SELECT mode FROM sessions WHERE id = ?1", session_id)
            if row is None:
                raise SessionNotFound(f"There is no session {session_id!r}.")
            mode: ToolMode = modes.effective(row[0], coding_enabled=self.coding_enabled)
            fork.fork(transaction, session_id, seq, new_id, mode.value)
            made = transaction.row(f"SELECT {session_list.COLUMNS} FROM sessions WHERE id = ?1", new_id)
            assert made is not None
            return made

        return self._session(await self._db.write(unit))

    async def rewind(
        self, session_id: str, seq: int, *, lease: Lease | None = None, files: dict[str, Any] | None = None
    ) -> int:
        """Take a message and all that followed out of the transcript."""

        def unit(transaction: Transaction) -> int:
            held = lease or leases.claim(transaction, session_id, _LEASE_SECONDS)
            if held is None:
                raise SessionBusy("A turn of this session is running; wait for it, or cancel it.")
            turns.recover(transaction, held)
            event = rewind.rewind(transaction, session_id, held, seq, files)
            if lease is None:
                leases.release(transaction, held)
            return event

        return await self._db.write(unit)

    async def turns_from(self, session_id: str, seq: int) -> builtins.list[str]:
        """The turns from a message on."""
        return await self._db.read(lambda tx: rewind.turns_from(tx, session_id, seq))

    async def last_user_message(self, session_id: str) -> tuple[int, str]:
        """The person's last message."""
        return await self._db.read(lambda tx: rewind.last_user_message(tx, session_id))

    async def user_message_images(self, session_id: str, seq: int) -> tuple[StoredImage, ...]:
        """The pictures of a message of the person."""
        return await self._db.read(lambda tx: rewind.user_message_images(tx, session_id, seq))

    async def family(self, session_id: str) -> builtins.list[str]:
        """The session and those of its sub-agents."""
        return await self._db.read(lambda tx: pruning.family(tx, session_id))

    def _session(self, row: Row) -> Session:
        """A session from its row."""
        identifier, mode, title, user, project, parent_id, created_at, updated_at, *more = row
        archived_at, model, used, limit, approval_mode, last_seq = more
        return Session(
            id=identifier,
            mode=modes.effective(mode, coding_enabled=self.coding_enabled),
            approval_mode=permissions.effective(approval_mode, identifier),
            title=title or "",
            user=user,
            project=project,
            parent_id=parent_id,
            created_at=created_at,
            updated_at=updated_at,
            archived_at=archived_at,
            model=model,
            context_tokens=used,
            context_limit=limit,
            last_seq=last_seq,
        )
