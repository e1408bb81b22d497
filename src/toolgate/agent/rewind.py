"""Rewinds a session together with its files, and undoes the changes that a session has made to files."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from toolgate.errors import SessionBusy
from toolgate.sessions import Lease, SessionStore
from toolgate.workspace.threads import in_thread
from toolgate.workspace.undo_files import UndoneFiles, undo_files

if TYPE_CHECKING:
    from toolgate.workspace import Workspace
    from toolgate.workspace.journal_entries import JournalEntry

_LEASE_SECONDS = 60.0
"""Seconds of the lease on a session while its files are restored."""


async def rewind_with_files(sessions: SessionStore, workspace: Workspace, session_id: str, seq: int) -> UndoneFiles:
    """Undo the changes to files since the person's message `seq`, then rewind the session to before that message.

    The session is leased meanwhile. A file that somebody else has changed since stays as it is, and is named.
    """
    turns = set(await sessions.turns_from(session_id, seq))
    async with _held(sessions, session_id) as lease:
        files = await in_thread(undo_files, workspace, lambda entry: entry.origin.turn_id in turns)
        await sessions.rewind(session_id, seq, lease=lease, files=as_data(files))
    return files


async def undo_changes(
    sessions: SessionStore,
    workspace: Workspace,
    session_id: str,
    *,
    path: str | None = None,
    call_id: str | None = None,
) -> UndoneFiles:
    """Undo the changes that a session and its sub-agents have made: in one file, by one call, or all of them."""
    family = set(await sessions.family(session_id))
    relative = None if path is None else workspace.relative(path)

    def wanted(entry: JournalEntry) -> bool:
        mine = entry.origin.session_id in family
        return mine and relative in (None, entry.path) and call_id in (None, entry.origin.call_id)

    async with _held(sessions, session_id) as lease:
        files = await in_thread(undo_files, workspace, wanted)
        if files.restored or files.refused:
            await sessions.append_event(lease, "files_taken_back", as_data(files))
    return files


def as_data(files: UndoneFiles) -> dict[str, Any]:
    """The restored and the refused files, as the log and the wire show them."""
    return {
        "restored": list(files.restored),
        "refused": [{"path": path, "reason": reason} for path, reason in files.refused],
    }


@contextlib.asynccontextmanager
async def _held(sessions: SessionStore, session_id: str) -> AsyncIterator[Lease]:
    """Hold the session's lease, so that no turn runs meanwhile."""
    lease = await sessions.try_claim(session_id, _LEASE_SECONDS)
    if lease is None:
        raise SessionBusy("A turn of this session is running; wait for it, or cancel it.")
    try:
        await sessions.recover(lease)
        yield lease
    finally:
        await sessions.release(lease)
