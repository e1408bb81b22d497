"""Finds files that appeared in the root's repository during git commands but were not made by git."""

from __future__ import annotations

import os
import re

from toolgate.sandbox.git.quarantine import SUFFIX, set_aside
from toolgate.sandbox.git.repository import GIT
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.workspace.oserrors import is_shortage

_KNOWN = re.compile(
    r"(?:[A-Z_]*HEAD|index|packed-refs|objects|refs|logs|description|shallow|COMMIT_EDITMSG|TAG_EDITMSG|MERGE_[A-Z]+"
    r"|SQUASH_MSG|NOTES_[A-Z_]+|BISECT_[A-Z_]+|sharedindex\.[0-9a-f]+|gc\.(?:pid|log)|rr-cache|lfs|AUTO_MERGE|REBASE_HEAD"
    r"|rebase-merge|rebase-apply|sequencer|reftable|info|hooks|branches)(?:\.lock)?"
    rf"|.*{re.escape(SUFFIX)}[0-9a-f]+"
)
"""Names that git itself creates in its directory while it records work."""
_TODO = {"rebase-merge", "rebase-apply", "sequencer"}


class UnexpectedFiles:
    """The names in the repository before git commands, for comparison with those afterwards."""

    def __init__(self, root: RootDirectory, parts: frozenset[str]) -> None:
        self._root = root
        self._expected = parts
        self._before = frozenset(self._names())

    def set_aside(self) -> list[str]:
        """Move new names aside that are not git's own; return the paths that were moved."""
        moved = []
        for name in sorted(set(self._names()) - self._before):
            if _KNOWN.fullmatch(name) and (name not in _TODO or name in self._expected):
                continue
            parent, last = self._root.parent(f"{GIT}/{name}")
            try:
                if set_aside(parent, last):
                    moved.append(f"{GIT}/{name}")
            finally:
                os.close(parent)
        return moved

    def _names(self) -> list[str]:
        try:
            fd = self._root.open(GIT, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if is_shortage(error):
                raise
            return []
        try:
            return os.listdir(fd)
        finally:
            os.close(fd)
