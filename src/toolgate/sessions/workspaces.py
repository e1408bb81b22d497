"""`SnapshotWorkspaces`: one directory per session, stored in the database after every call that changed a file."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolgate.errors import WorkspaceError
from toolgate.sessions.blobs import Blobs
from toolgate.workspace import archive
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.sessions import Database, Lease

_NEW = "new"
"""The hash of a workspace that was never stored."""


@dataclass(slots=True, kw_only=True)
class _Held:
    """A workspace in which a turn runs."""

    lease: Lease
    directory: str
    signature: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class SnapshotWorkspaces:
    """The `WorkspaceProvider` of workers that share no directory: one directory per session, stored in the database.

    A call whose end is in the log has its files in the database. So another worker that resumes the turn continues
    with exactly these files; what an interrupted call has written is gone with its worker.
    """

    def __init__(self, db: Database, root: str, base: str, limit: int) -> None:
        """`root` is what a new session begins with, and `base` is where the directories of sessions are."""
        self._blobs = Blobs(db)
        self.root = root
        self.base = base
        self.limit = limit
        self._held: dict[str, _Held] = {}

    async def restore(self, lease: Lease) -> str:
        """The directory of a session, as the last call left it."""
        session_id, directory = lease.session_id, os.path.join(self.base, lease.session_id)
        await in_thread(archive.make_parent, self.base)
        while (older := self._held.get(session_id)) is not None:  # a turn that has lost its session is being stopped
            await older.released.wait()
        found = await self._blobs.snapshot(session_id)
        stored = _NEW if found is None else found[0]
        if not (self.is_known(session_id) and await in_thread(archive.is_unchanged, directory, stored)):
            try:
                await self.make(session_id, directory, found)
            except WorkspaceError as error:
                raise WorkspaceError(
                    f"The files of the session {session_id} could not be restored ({error}). Nothing was "
                    f"overwritten. Look at the disk of the worker ({self.base}), then send the message again."
                ) from error
        await in_thread(archive.unmark_stored, directory)
        signature = await in_thread(archive.signature, directory)
        self._held[session_id] = _Held(lease=lease, directory=directory, signature=signature)
        return directory

    async def save(self, session_id: str) -> None:
        """Store the files of a session if they have changed. Raises `WorkspaceError` if there is too much."""
        held = self._held.get(session_id)
        if held is None:
            return
        async with held.lock:
            signature = await in_thread(archive.signature, held.directory)
            if signature == held.signature:
                return
            with archive.temporary(self.base) as path:
                try:
                    digest, size = await self.pack(session_id, held.directory, path)
                except WorkspaceError:
                    raise WorkspaceError(
                        f"The files of this session are more than {self.limit:,} bytes, so they cannot move to another "
                        "machine. Remove what is not needed, or raise TOOLGATE_DISTRIBUTED_WORKSPACE_BYTES."
                    ) from None
                await self._blobs.store_snapshot(held.lease, digest, size, lambda: archive.pieces(path))
            held.signature = signature

    async def release(self, lease: Lease, *, ended: bool) -> None:
        """The turn no longer runs here. If it has `ended`, this worker can use the directory again as it is."""
        held = self._held.get(lease.session_id)
        if held is None or held.lease != lease:
            return
        found = await self._blobs.snapshot(lease.session_id) if ended else None
        if ended and await in_thread(archive.signature, held.directory) == held.signature:
            await in_thread(archive.mark_stored, held.directory, _NEW if found is None else found[0])
        del self._held[lease.session_id]
        held.released.set()

    def is_known(self, _session_id: str) -> bool:
        """Whether a directory that this worker has stored can be used again as it is."""
        return True

    async def make(self, _session_id: str, directory: str, found: tuple[str, int] | None) -> None:
        """Make the directory of a session, from the stored archive or, for a new session, from the root."""
        with archive.temporary(self.base) as path:
            if found is None:
                await in_thread(archive.pack, self.root, path, 2**62)
            else:
                await self.fetch(*found, path)
            await in_thread(archive.unpack, path, directory)

    async def pack(self, _session_id: str, directory: str, path: str) -> tuple[str, int]:
        """Pack the directory of a session; return the hash of the archive and its size."""
        return await in_thread(archive.pack, directory, path, self.limit)

    async def fetch(self, digest: str, size: int, path: str) -> None:
        """Write a stored archive to a file."""
        with archive.new_file(path) as file:
            await self._blobs.fetch(digest, size, file.write)
