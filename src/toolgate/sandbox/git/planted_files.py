"""Sets aside files that commands put into repositories below the root and that would make git run something."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from toolgate.sandbox.git.configuration import MAX_BYTES, is_harmless
from toolgate.sandbox.git.nested_repositories import NestedRepositories
from toolgate.sandbox.git.quarantine import set_aside
from toolgate.sandbox.git.write_intervals import WriteIntervals
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.workspace.oserrors import is_shortage

_TIMEOUT = 10.0
_TODO = re.compile(rb"^[ \t]*(?:x|exec)[ \t]", re.MULTILINE)
_WORKTREE = re.compile(r"(?:.*/)?\.git(?:/modules/[^/]+)*/worktrees/[^/]+")

Stamp = tuple[int, int, int]
"""Device, inode and change time: unchanged as long as nobody writes, renames or links the file."""


class PlantedFiles:
    """Remembers what existed before commands could write, and checks everything else."""

    def __init__(self, root: RootDirectory, intervals: WriteIntervals) -> None:
        self._root = root
        self._intervals = intervals
        self._nested = NestedRepositories(root)
        self._trusted: set[Stamp] = set()
        """What was last changed while no command could write."""
        self._judged: set[Stamp] = set()
        """What commands wrote and what makes git run nothing."""

    def set_aside(self) -> tuple[list[str], bool]:
        """Return the paths that were moved, and whether all directories could be checked."""
        repositories, pointers, complete = self._nested.scan(_TIMEOUT)
        moved = [path for path in pointers if self._points_away(path) and self._move(path)]
        for pointer in pointers:
            target = self._target(pointer)
            if target and target not in repositories and self._root.kind(target) == "directory":
                repositories.append(target)
        for repository in repositories:
            moved += [path for path in self._executable(repository) if self._move(path)]
        return moved, complete

    def _executable(self, repository: str) -> Iterator[str]:
        fresh = self._is_fresh(repository)
        for name in ("config", "config.worktree"):
            path = _join(repository, name)
            if self._is_new(path, fresh) and not self._is_harmless(path):
                yield path
        path = _join(repository, "commondir")
        if self._is_new(path, fresh) and not self._is_worktree(repository):
            yield path
        yield from self._hooks(_join(repository, "hooks"), fresh)
        for name in ("rebase-merge/git-rebase-todo", "sequencer/todo"):
            path = _join(repository, name)
            if self._is_new(path, fresh) and _TODO.search(self._root.read(path, MAX_BYTES) or b"x \n"):
                yield path

    def _hooks(self, path: str, fresh: bool) -> Iterator[str]:
        info = self._stat(path)
        if info is None:
            return
        if not stat.S_ISDIR(info.st_mode):
            if self._is_new(path, fresh):
                yield path
            return
        fresh = fresh or self._is_fresh(path)
        for name in self._names(path):
            if not name.endswith(".sample") and ".set-aside-" not in name and self._is_new(f"{path}/{name}", fresh):
                yield f"{path}/{name}"

    def _names(self, path: str) -> list[str]:
        try:
            fd = self._root.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if is_shortage(error):
                raise
            return []
        try:
            return sorted(os.listdir(fd))
        finally:
            os.close(fd)

    def _is_fresh(self, directory: str) -> bool:
        """Whether a command created or moved a directory, or one of its entries, since it was last seen."""
        info = self._stat(directory)
        return info is not None and self._intervals.holds(info.st_ctime_ns)

    def _is_new(self, path: str, fresh: bool) -> bool:
        """Whether a command may have created it. Each entry is checked once."""
        info = self._stat(path)
        if info is None:
            return False
        stamp = (info.st_dev, info.st_ino, info.st_ctime_ns)
        if stamp in self._trusted or stamp in self._judged:
            return False
        if fresh or self._intervals.holds(info.st_ctime_ns):
            return True
        self._trusted.add(stamp)
        return False

    def _is_harmless(self, path: str) -> bool:
        info = self._stat(path)
        text = self._root.read(path, MAX_BYTES)
        if info is None or text is None or not is_harmless(text):
            return False
        self._judged.add((info.st_dev, info.st_ino, info.st_ctime_ns))
        return True

    def _is_worktree(self, repository: str) -> bool:
        """Whether `commondir` belongs to a linked work tree. It leads to the surrounding repository, checked itself."""
        text = self._root.read(f"{repository}/commondir", 4096)
        return _WORKTREE.fullmatch(repository) is not None and text is not None and text.strip() == b"../.."

    def _points_away(self, pointer: str) -> bool:
        """Whether a new `.git` leads out of the root or through a link."""
        if not self._is_new(pointer, fresh=False):
            return False
        target = self._target(pointer)
        return not target or self._root.kind(target) == "other"

    def _target(self, pointer: str) -> str:
        """Return the directory, relative to the root, that a `.git` file names; empty if it is not inside the root."""
        text = self._root.read(pointer, 4096)
        if not text or not text.startswith(b"gitdir:"):
            return ""
        here = os.path.join(self._root.path, os.path.dirname(pointer))
        path = os.path.normpath(os.path.join(here, os.fsdecode(text[7:].strip())))
        return path[len(self._root.path) + 1 :] if path.startswith(self._root.path + "/") else ""

    def _move(self, path: str) -> bool:
        try:
            parent, name = self._root.parent(path)
        except OSError as error:
            if is_shortage(error):
                raise
            return False
        try:
            return set_aside(parent, name)
        finally:
            os.close(parent)

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return self._root.stat(path)
        except OSError as error:
            if is_shortage(error):
                raise
            return None


def _join(path: str, name: str) -> str:
    return name if path == "." else f"{path}/{name}"
