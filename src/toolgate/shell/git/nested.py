"""Finds repositories below the root again and again, without reading what has not changed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from typing import NamedTuple

from toolgate.shell.git.repository import GIT
from toolgate.shell.sandbox.beneath import Beneath

_RECENT = 50_000_000
"""Nanoseconds in which a second change may bear the same time stamp as the one that was seen."""
_CONTENT = frozenset({"objects", "refs", "logs"})
"""What lies in a `.git` and holds no repository that git would find by itself."""


class _Directory(NamedTuple):
    changed: int
    """Its change time, which no command can set; -1 if it must be read again."""
    names: tuple[str, ...]
    """The directories in it."""
    is_repository: bool
    pointer: bool
    """Whether its `.git` is a file or a link."""


class Nested:
    """The directories below a root, as they were seen last."""

    def __init__(self, root: Beneath) -> None:
        self._root = root
        self._known: dict[str, _Directory] = {}

    def look(self, seconds: float) -> tuple[list[str], list[str], bool]:
        """The repositories, the entries that point to one, and whether the time was enough for all directories."""
        deadline = time.monotonic() + seconds
        repositories: list[str] = []
        pointers: list[str] = []
        seen: dict[str, _Directory] = {}
        waiting = ["."]
        while waiting:
            path = waiting.pop()
            directory = self._directory(path)
            if directory is None:
                continue
            seen[path] = directory
            if directory.is_repository:
                repositories.append(path)
            if directory.pointer:
                pointers.append(_join(path, GIT))
            waiting += self._below(path, directory)
            if len(seen) % 256 == 0 and time.monotonic() > deadline:
                self._known.update(seen)
                return repositories, pointers, False
        self._known = seen
        return repositories, pointers, True

    def _below(self, path: str, directory: _Directory) -> Iterator[str]:
        inside_git = path.rpartition("/")[2] == GIT
        for name in directory.names:
            if path == "." and name in (GIT, ".toolgate"):
                continue
            if not (inside_git and name in _CONTENT):
                yield _join(path, name)

    def _directory(self, path: str) -> _Directory | None:
        try:
            info = os.stat(os.path.join(self._root.path, path), follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISDIR(info.st_mode):
            return None
        known = self._known.get(path)
        if known is not None and known.changed == info.st_ctime_ns:
            return known
        return self._read(path)

    def _read(self, path: str) -> _Directory | None:
        try:
            fd = self._root.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            changed = os.fstat(fd).st_ctime_ns
            names, others = [], set()
            with os.scandir(fd) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        names.append(entry.name)
                    elif entry.name in ("HEAD", "commondir", "objects", GIT):
                        others.add(entry.name)
        finally:
            os.close(fd)
        present = others | set(names)
        is_repository = path.rpartition("/")[2] == GIT or (
            "HEAD" in present and bool(present & {"objects", "commondir"})
        )
        recent = time.time_ns() - changed < _RECENT
        return _Directory(-1 if recent else changed, tuple(names), is_repository, GIT in others and path != ".")


def _join(path: str, name: str) -> str:
    return name if path == "." else f"{path}/{name}"
