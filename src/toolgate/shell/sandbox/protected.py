"""The paths inside the root that commands may not write, as mounts; existing or not yet existing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.shell.sandbox.places import Places
from toolgate.shell.sandbox.plan import Mount
from toolgate.shell.sandbox.stubs import Stubs, is_stub

RUNTIME = ".toolgate"
GIT = ".git"
LATE = ("commondir", "config.worktree")
"""Files in `.git` that redirect git's configuration and cannot be stubbed, because git would read the stub."""
_MOST_MODULES = 64


class Protected:
    """Plans the mounts that keep protected paths as they are. One for each session."""

    def __init__(self, root: str, places: Places) -> None:
        self._root = root
        self._places = places
        self._stubs = Stubs(root)

    def close(self) -> None:
        """Remove the mount points that were made."""
        self._stubs.release()

    def identity(self) -> tuple[object, ...]:
        """What is at each protected path: replaced on the host, a path loses its mount in every sandbox."""
        return tuple(_which(self._path(name)) for name in (".", RUNTIME, GIT, f"{GIT}/hooks", f"{GIT}/config"))

    def runtime(self, *, writable: bool) -> Iterator[Mount]:
        """Hide `.toolgate`: whatever the access, commands neither read nor write the runtime's own files."""
        kind = self._kind(RUNTIME)
        if kind == "absent" and not (writable and self._stubs.ensure(RUNTIME)):
            return
        self._stubs.hold_existing(RUNTIME)
        source = self._places.empty if kind == "file" else self._places.nothing
        yield Mount("ro", self._path(RUNTIME), source)

    def hide(self, path: str, *, writable: bool) -> Iterator[Mount]:
        """Hide another path inside the root, existing or not, on a way of mount points that no command can move."""
        parts = os.path.relpath(path, self._root).split("/")
        if parts[0] == RUNTIME:
            return
        for depth in range(1, len(parts) + 1):
            relative = "/".join(parts[:depth])
            last = depth == len(parts)
            kind = self._kind(relative)
            if kind == "absent" and not (writable and self._stubs.ensure(relative, file=last)):
                return
            if last or kind == "absent":
                is_file = kind == "file" or (kind == "absent" and last)
                yield Mount("ro", self._path(relative), self._places.empty if is_file else self._places.nothing)
                return
            yield self._itself("rw" if writable else "ro", relative)

    def git(self) -> Iterator[Mount]:
        """Keep what git executes: hooks and configuration, of the repository and of its submodules."""
        kind = self._kind(GIT)
        if kind == "absent" or is_stub(self._path(GIT)):
            if self._stubs.ensure(GIT):
                yield Mount("ro", self._path(GIT), self._places.nothing)
            return
        if kind == "file":
            yield self._itself("ro", GIT)
            return
        yield self._itself("rw", GIT)  # a mount point cannot be renamed: no second `.git` can take its place
        yield from self._repository(GIT)
        if self._kind(f"{GIT}/worktrees") == "directory":
            yield self._itself("ro", f"{GIT}/worktrees")
        yield from self._modules()

    def late(self) -> frozenset[str]:
        """Which of the files that redirect git's configuration exist now."""
        return frozenset(name for name in LATE if os.path.lexists(self._path(f"{GIT}/{name}")))

    def set_aside(self, before: frozenset[str]) -> list[str]:
        """Move away what redirects git's configuration and appeared since `before`; the paths that were moved."""
        moved = []
        for name in sorted(self.late() - before):
            path = self._path(f"{GIT}/{name}")
            os.rename(path, f"{path}.set-aside")
            moved.append(f"{GIT}/{name}")
        return moved

    def _repository(self, git: str) -> Iterator[Mount]:
        for name, file in (("hooks", False), ("config", True)):
            relative = f"{git}/{name}"
            if self._kind(relative) == "absent" and not self._stubs.ensure(relative, file=file):
                continue
            self._stubs.hold_existing(relative)
            yield self._itself("ro", relative)
        for name in LATE:
            if self._kind(f"{git}/{name}") != "absent":
                yield self._itself("ro", f"{git}/{name}")

    def _modules(self) -> Iterator[Mount]:
        top = f"{GIT}/modules"
        if self._kind(top) != "directory":
            return
        found = []
        for directory, names, files in os.walk(self._path(top)):
            if "HEAD" in files and "objects" in names:
                found.append(os.path.relpath(directory, self._root))
                names[:] = [name for name in names if name == "modules"]
            if len(found) > _MOST_MODULES:
                raise _refusal(top, f"holds more than {_MOST_MODULES} submodules")
        pinned: set[str] = set()
        for module in found:
            parts = module.split("/")
            for depth in range(2, len(parts) + 1):
                ancestor = "/".join(parts[:depth])
                if ancestor not in pinned:
                    pinned.add(ancestor)
                    yield self._itself("rw", ancestor)
            yield from self._repository(module)

    def _itself(self, kind: str, relative: str) -> Mount:
        path = self._path(relative)
        return Mount("ro" if kind == "ro" else "rw", path, path)

    def _path(self, relative: str) -> str:
        return os.path.join(self._root, relative)

    def _kind(self, relative: str) -> str:
        try:
            mode = os.lstat(self._path(relative)).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "absent"
        if stat.S_ISDIR(mode):
            return "directory"
        if stat.S_ISREG(mode):
            return "file"
        raise _refusal(relative, "is a link or a special file")


def _which(path: str) -> tuple[int, int, int] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino, stat.S_IFMT(info.st_mode)


def _refusal(relative: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.ACCESS_DENIED,
        f"'{relative}' {why}, so it cannot be protected from commands that may write.",
        'Use access="read", or ask the user to put this right.',
    )
