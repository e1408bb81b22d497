"""The names of the runtime's own files beneath a root: no tool reads them, by whatever name."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from typing import NamedTuple

OWN_FILE = "built-in: it is one of the runtime's own files"
"""The rule that keeps them from every tool."""


class OwnName(NamedTuple):
    """A name of an own file or directory, as a pattern for paths. Case is ignored, as everywhere in protection."""

    start: str
    """It with a `/` at its end, in lower case."""

    @classmethod
    def of(cls, path: str) -> OwnName:
        """The pattern for a path in normal form."""
        return cls(f"{path}/".casefold())

    @property
    def rule(self) -> str:
        """The rule that it belongs to."""
        return OWN_FILE

    def matches(self, path: str) -> bool:
        """Whether a path (in normal form) is it, or lies below it."""
        return f"{path}/".casefold().startswith(self.start)


class OwnFiles(NamedTuple):
    """The own files of one workspace."""

    paths: tuple[str, ...] = ()
    """Where they are, beneath the root or not."""
    names: tuple[OwnName, ...] = ()
    """Their names beneath the root."""

    def joined(self, paths: Collection[str], names: Collection[str]) -> OwnFiles:
        """These and others."""
        more = map(OwnName.of, sorted(names))
        return OwnFiles(tuple(dict.fromkeys((*self.paths, *paths))), tuple(dict.fromkeys((*self.names, *more))))

    def linked(self) -> frozenset[tuple[int, int]]:
        """Those that have several hard links, by device and inode: one of them may be beneath the root."""
        found = set[tuple[int, int]]()
        for path in self.paths:
            try:
                info = os.stat(path)
            except OSError:
                continue
            if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                found.add((info.st_dev, info.st_ino))
        return frozenset(found)
