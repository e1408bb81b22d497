"""`GitWorkspaces`: a clone of the worker's repository per session. Only what its first commit lacks is stored."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolgate.process import git_clone
from toolgate.sessions.workspaces import SnapshotWorkspaces
from toolgate.workspace import archive, archive_base
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.sessions import Database
    from toolgate.workspace.archive_base import ArchiveBase

_KEPT = 64
"""Sessions whose files of the first commit are remembered. The directory of any other session is created again."""


class GitWorkspaces(SnapshotWorkspaces):
    """The `WorkspaceProvider` of workers that each have a clone of one repository as their root.

    A session begins with the commit that its worker has checked out. Changed and untracked files, new commits, the
    index, undo and outputs are stored as with `SnapshotWorkspaces`; the rest comes from the root of the next worker,
    which has to have that commit. Git never runs in the directory of a session.
    """

    def __init__(self, db: Database, root: str, base: str, limit: int) -> None:
        super().__init__(db, root, base, limit)
        self._bases: dict[str, ArchiveBase | None] = {}

    def is_known(self, session_id: str) -> bool:
        """Whether it is known which files came from the commit."""
        return session_id in self._bases

    async def make(self, session_id: str, directory: str, found: tuple[str, int] | None) -> None:
        """Clone the root, and put what was stored into the clone."""
        with archive.temporary(self.base) as path:
            clone = os.path.join(os.path.dirname(path), "clone")
            try:
                self._bases[session_id] = await self._made(directory, found, path, clone)
            finally:
                await in_thread(archive.remove, clone)
        for old in list(self._bases)[:-_KEPT]:
            if old not in self._held:
                del self._bases[old]

    async def _made(self, directory: str, found: tuple[str, int] | None, path: str, clone: str) -> ArchiveBase | None:
        if found is None:
            commit = await in_thread(git_clone.head, self.root)
            await in_thread(git_clone.clone, self.root, commit, clone)
            names = await in_thread(archive_base.of_commit, clone)
            await in_thread(archive.move_into_place, clone, directory)
            return await in_thread(archive_base.observe, directory, commit, names)
        await self.fetch(*found, path)
        stored = await in_thread(archive.commit_of, path)
        if stored is None:  # by a worker that stores whole snapshots
            await in_thread(archive.unpack, path, directory)
            return None
        await in_thread(git_clone.clone, self.root, stored, clone)
        names = await in_thread(archive.unpack, path, directory, clone)
        return await in_thread(archive_base.observe, directory, stored, names)

    async def pack(self, session_id: str, directory: str, path: str) -> tuple[str, int]:
        """Pack what is not in the commit."""
        return await in_thread(archive.pack, directory, path, self.limit, self._bases[session_id])
