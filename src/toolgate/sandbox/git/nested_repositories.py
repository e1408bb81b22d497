"""Finds repositories below the root repeatedly, without reading unchanged directories again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from toolgate.sandbox.git.repository import GIT
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.workspace.oserrors import is_shortage

_RECENT = 50_000_000
"""Nanoseconds within which two changes may have the same time stamp."""
_CONTENT = frozenset({"objects", "refs", "logs"})
"""Directories inside a `.git` in which git does not look for repositories."""


class _Directory(NamedTuple):
    changed: int
    """Its change time, which no command can set; -1 if it must be read again."""
    names: tuple[str, ...]
    """Its subdirectories."""
    is_repository: bool
    pointer: bool
    """Whether its `.git` is a file or a link."""


class NestedRepositories:
    """The directories below a root, as they were last seen."""

    def __init__(self, root: RootDirectory) -> None:
        self._root = root
        self._known: dict[str, _Directory] = {}

    def scan(self, seconds: float) -> tuple[list[str], list[str], bool]:
        """Return the repositories, the entries that point to one, and whether there was time for all directories."""
        deadline = time.monotonic() + seconds
        waiting = self._changed() if self._known else ["."]
        while waiting and time.monotonic() <= deadline:
            path = waiting.pop()
            before = self._known.get(path)
            now = self._read(path)
            if now is None:
                self._forget({path})
                continue
            self._known[path] = now
            below = set(self._below(path, now))
            if before is not None:
                self._forget(set(self._below(path, before)) - below)
            waiting += (name for name in below if name not in self._known)
        for path in waiting:  # read the next time
            self._known[path] = _Directory(-1, (), False, False)
        repositories = [path for path, directory in self._known.items() if directory.is_repository]
        pointers = [_join(path, GIT) for path, directory in self._known.items() if directory.pointer]
        return repositories, pointers, not waiting

    def _changed(self) -> list[str]:
        """Return the known directories whose entries may have changed. Each takes one `stat`."""
        found = []
        root = self._root.fd
        for path, directory in self._known.items():
            try:
                if os.stat(path, dir_fd=root, follow_symlinks=False).st_ctime_ns != directory.changed:
                    found.append(path)
            except OSError:
                found.append(path)
        return found

    def _forget(self, gone: set[str]) -> None:
        """Forget directories and everything below them."""
        if gone:
            starts = tuple(f"{path}/" for path in gone)
            for path in [path for path in self._known if path in gone or path.startswith(starts)]:
                del self._known[path]

    def _below(self, path: str, directory: _Directory) -> Iterator[str]:
        inside_git = path.rpartition("/")[2] == GIT
        for name in directory.names:
            if path == "." and name in (GIT, ".toolgate"):
                continue
            if not (inside_git and name in _CONTENT):
                yield _join(path, name)

    def _read(self, path: str) -> _Directory | None:
        try:
            fd = self._root.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if is_shortage(error):
                raise
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
