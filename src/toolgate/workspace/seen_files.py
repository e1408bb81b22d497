"""Remembers which file contents a session has seen. Editing a file that changed since is a conflict."""

import os
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from toolgate.workspace.file_state import digest_file, identity, is_settled, stamp
from toolgate.workspace.root import OpenedFile

_MAX_FILES = 4096
_MAX_CARRIED = 512


class _Seen(NamedTuple):
    identity: str
    stamp: str
    digest: str | None
    settled: bool
    """Whether the file was settled when it was seen: then an equal identity means an equal content."""


class SeenFiles:
    """The files that one session has read or written, by real path."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, ...], _Seen] = OrderedDict()
        self.changes = 0
        """Counter of changes: equal numbers mean that nothing was added."""

    def remember(self, parts: tuple[str, ...], info: os.stat_result, digest: str | None) -> None:
        """Record what the session saw at this path."""
        self.changes += 1
        self._seen.pop(parts, None)
        self._seen[parts] = _Seen(identity=identity(info), stamp=stamp(info), digest=digest, settled=is_settled(info))
        while len(self._seen) > _MAX_FILES:
            self._seen.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        if self._seen:
            self.changes += 1
            self._seen.clear()

    def has(self, parts: tuple[str, ...]) -> bool:
        """Whether the session has seen a file at this path."""
        return parts in self._seen

    def export_state(self) -> dict[str, str]:
        """Return the hashes of the latest files, for another process."""
        known = [(parts, seen.digest) for parts, seen in self._seen.items() if seen.digest is not None]
        return {"/".join(parts): digest for parts, digest in known[-_MAX_CARRIED:]}

    def import_state(self, found: Mapping[str, str]) -> None:
        """Continue from what another process has exported. Files are compared by their hashes, not identities."""
        for path, digest in found.items():
            self._seen[tuple(path.split("/"))] = _Seen(identity="", stamp="", digest=digest, settled=False)

    def changed(self, parts: tuple[str, ...], opened: OpenedFile | None, *, wait: bool = True) -> bool:
        """Whether the file is no longer what the session saw.

        A file that was never seen has not changed. If it no longer exists, nothing can be destroyed. With `wait=False`
        it raises `BlockingIOError` if the file has to be hashed.
        """
        seen = self._seen.get(parts)
        if seen is None or opened is None:
            return False
        if seen.digest is None:
            return stamp(opened.stat) != seen.stamp
        if seen.settled and identity(opened.stat) == seen.identity:
            return False
        if not wait:
            raise BlockingIOError
        return digest_file(opened.fd, opened.stat) != seen.digest
