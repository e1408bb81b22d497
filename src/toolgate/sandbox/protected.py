"""Mounts that protect paths inside the root from commands, whether or not they exist yet."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Iterator

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.sandbox.git.repository import GIT, Repository
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.sandbox.session_directory import SessionDirectory
from toolgate.sandbox.stubs import Stubs
from toolgate.sandbox.view import Mount
from toolgate.workspace.oserrors import is_shortage
from toolgate.workspace.outputs import OwnOutputs

RUNTIME = ".toolgate"
SEQUENCER = ("rebase-merge", "rebase-apply", "sequencer")
"""git's todo lists: git executes them later, and they may contain commands."""
_PINNED = (
    *(
        "config",
        "config.worktree",
        "hooks",
        "info",
        "modules",
        "worktrees",
        "commondir",
        "gitdir",
        "remotes",
        "branches",
    ),
    *("objects/info", *SEQUENCER),
)
"""Paths in `.git` that stay read-only while git itself writes there."""


class Protected:
    """Plans the mounts for protected paths. One per session.

    Everything below the root is opened without following links, and mounted by its descriptor.
    """

    def __init__(
        self, root: RootDirectory, places: SessionDirectory, repository: Repository, outputs: OwnOutputs | None = None
    ) -> None:
        self._root = root
        self._places = places
        self._stubs = Stubs(root)
        self._repository = repository
        self._outputs = outputs
        self._mounted: dict[str, bool] = {}
        """Paths that the planned view already mounts, and whether each is writable."""
        self._covered: set[str] = set()
        """Directories of which the planned view shows nothing: what lies in them is hidden, and has no mount point."""

    def close(self) -> None:
        """Remove the mount points that were created."""
        self._stubs.release()

    def identity(self) -> tuple[object, ...]:
        """Identify what is at each protected path. A path that is replaced on the host loses its mounts."""
        paths = (_which(os.path.join(self._root.path, name)) for name in (".", RUNTIME, GIT))
        return (*paths, self._which_outputs(), *self._repository.signature())

    def _which_outputs(self) -> object:
        """What is at the session's two output paths. A view that was made before the first output shows nothing."""
        if self._outputs is None:
            return None
        return tuple(self._root.kind(path) for path in (self._outputs.stored, self._outputs.shown))

    def begin(self) -> None:
        """Plan a new view."""
        self._mounted.clear()
        self._covered.clear()

    def runtime(self, *, writable: bool) -> Iterator[Mount]:
        """Hide `.toolgate`: with any access, commands can neither read nor write the runtime's own files."""
        kind = self._kind(RUNTIME)
        needed = writable or self._outputs is not None  # other sessions may create outputs there while a command runs
        if kind == "absent" and not (needed and self._stubs.ensure(RUNTIME)):
            return
        self._stubs.hold_existing(RUNTIME)
        if self._outputs is None or self._root.kind(self._outputs.stored) != "directory":
            yield self._mask(RUNTIME, kind == "file")
        else:
            self._mounted[RUNTIME] = False
            below = os.path.relpath(self._outputs.stored, RUNTIME)
            yield Mount("ro", self._path(RUNTIME), self._places.directory_with("runtime", below))
            yield self._itself("ro", self._outputs.stored)

    def outputs(self, *, writable: bool) -> Iterator[Mount]:
        """Show only the session's own outputs in the output directory.

        A directory that also holds other files stays as it is. Its links lead nowhere in this view.
        """
        if self._outputs is None or not self._is_for_outputs(self._outputs.shown):
            return
        shown, stored = self._outputs.shown, self._outputs.stored
        yield from self._way_to(shown, writable=writable)
        if not self._is_reached(shown):
            return
        if self._root.kind(stored) != "directory":
            yield self._mask(shown, False)
        else:
            yield dataclasses.replace(self._itself("ro", stored), target=self._path(shown))
            self._mounted[shown] = False

    def own_outputs(self) -> str | None:
        """Return the host directory with the session's outputs; None if there is none yet."""
        if self._outputs is None or self._root.kind(self._outputs.stored) != "directory":
            return None
        return self._path(self._outputs.stored)

    def outputs_of_nobody(self) -> Iterator[str]:
        """Yield files in the output directory that belong to no session."""
        if self._outputs is None or not self._is_for_outputs(self._outputs.shown):
            return
        with os.scandir(self._path(self._outputs.shown)) as entries:
            yield from [entry.path for entry in entries if not entry.is_symlink()]

    def _is_for_outputs(self, relative: str) -> bool:
        """Whether a directory is only for outputs: then it has the runtime's ignore file."""
        return self._root.kind(relative) == "directory" and self._root.read(f"{relative}/.gitignore", 2) == b"*\n"

    def hide(self, path: str, *, writable: bool, directory: bool = False) -> Iterator[Mount]:
        """Hide a path inside the root, existing or not. Its parents become mount points, which no command can move.

        `directory` is what it will be if it does not exist yet.
        """
        relative = os.path.relpath(path, self._root.path)
        if relative.split("/")[0] == RUNTIME or (not writable and self._root.kind(relative) == "other"):
            return  # what a link leads to is hidden by its own path
        yield from self._way_to(relative, writable=writable)
        kind = self._kind(relative) if self._is_reached(relative) else "absent"
        if kind != "absent":
            yield self._mask(relative, kind == "file")
        elif writable and self._is_reached(relative) and self._stubs.ensure(relative, file=not directory):
            yield self._mask(relative, not directory)

    def lock_away(self, relative: str, *, writable: bool) -> Iterator[Mount]:
        """Put something that cannot be read in the place of a secret file, or of a directory that a rule denies."""
        if relative.split("/")[0] == RUNTIME or self._root.kind(relative) not in ("file", "directory"):
            return
        yield from self._way_to(relative, writable=writable)
        if self._is_reached(relative) and relative not in self._mounted:
            is_file = self._kind(relative) == "file"
            yield self._mask(relative, is_file, self._places.unreadable)

    def keep(self, path: str) -> Iterator[Mount]:
        """Protect a path inside the root. Its parents become mount points, which no command can move."""
        yield from self._pin(os.path.relpath(path, self._root.path), file=False, made=False)

    def git(self) -> Iterator[Mount]:
        """Protect the repository, and the files that make the user's git run something."""
        kind = self._kind(GIT)
        if kind == "absent" or self._stubs.is_stub(GIT):
            if self._stubs.ensure(GIT):
                yield self._mask(GIT, False)
        else:
            yield self._itself("ro", GIT)
        for pin in self._repository.pins():
            yield from self._pin(pin.relative, pin.file, pin.made)

    def for_git(self, target: str, parts: frozenset[str]) -> Iterator[Mount]:
        """Mount the repository a second time, writable, for git. Pinned paths stay read-only unless in `parts`."""
        if self._kind(GIT) != "directory" or self._stubs.is_stub(GIT):
            raise _refusal(GIT, "is not the directory of a repository")
        yield self._itself("rw", GIT, target)
        for name in _PINNED:
            relative = f"{GIT}/{name}"
            if name not in parts and self._kind(relative) != "absent":
                yield self._itself("ro", relative, f"{target}/{name}")

    def _pin(self, relative: str, file: bool, made: bool) -> Iterator[Mount]:
        yield from self._way_to(relative, writable=True)
        if not self._is_reached(relative) or relative in self._mounted:
            return
        if self._kind(relative) == "absent" and not (made and self._stubs.ensure(relative, file=file)):
            return
        self._stubs.hold_existing(relative)
        yield self._itself("ro", relative)

    def _way_to(self, relative: str, *, writable: bool) -> Iterator[Mount]:
        """Make the parent directories of a path mount points, so that none of them can be moved."""
        parts = relative.split("/")
        for depth in range(1, len(parts)):
            ancestor = "/".join(parts[:depth])
            if self._mounted.get(ancestor) is False:
                return
            if ancestor in self._mounted:
                continue
            if self._kind(ancestor) == "absent" and not (writable and self._stubs.ensure(ancestor)):
                return
            yield self._itself("rw" if writable else "ro", ancestor)

    def _is_reached(self, relative: str) -> bool:
        """Whether the parent directory of a path exists in this view, which shows it."""
        parent = os.path.dirname(relative)
        return not parent or (parent in self._mounted and parent not in self._covered)

    def is_covered(self, relative: str) -> bool:
        """Whether a path lies in a directory of which the planned view shows nothing."""
        return any(relative.startswith(f"{directory}/") for directory in self._covered)

    def _mask(self, relative: str, is_file: bool, file: str = "") -> Mount:
        self._mounted[relative] = False
        if is_file:
            return Mount("ro", self._path(relative), file or self._places.empty)
        self._covered.add(relative)
        return Mount("ro", self._path(relative), self._places.nothing)

    def _itself(self, kind: str, relative: str, target: str = "") -> Mount:
        """Open a path now and return a mount of it. The receiver closes the descriptor."""
        path = self._path(relative)
        if not target:
            self._mounted[relative] = kind == "rw"
        try:
            fd = self._root.look(relative)
        except OSError as error:
            if is_shortage(error):
                raise
            raise _refusal(relative, "was replaced") from error
        return Mount("ro" if kind == "ro" else "rw", target or path, path, fd)

    def _path(self, relative: str) -> str:
        return os.path.join(self._root.path, relative)

    def _kind(self, relative: str) -> str:
        kind = self._root.kind(relative)
        if kind == "other":
            raise _refusal(relative, "is a link or a special file")
        return kind


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
