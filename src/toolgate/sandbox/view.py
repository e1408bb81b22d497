"""What a sandbox shows: a list of mounts, the same for every layer that can mount."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from toolgate.protocol.plan import Access
from toolgate.sandbox.git.git_list import GitList

Kind = Literal["ro", "rw", "tmpfs", "shm", "proc", "dev", "symlink", "dir", "seal"]

SHARED_BYTES = 256 << 20
"""Size of `/dev/shm`. No resource limit of a process counts this memory."""
SMALL_BYTES = 16 << 20
"""Size of every other in-memory directory. They only hold mount points."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One step of building the view. `source` is a host path, or the text of a symbolic link."""

    kind: Kind
    target: str
    source: str = ""
    source_fd: int = field(default=-1, compare=False)
    """The source as an open descriptor, if commands can write near it. Then `source` is only its name.

    Two views are the same without it: what it leads to is part of `View.checks` and `View.identity`."""


@dataclass(frozen=True, slots=True)
class RedirectableMount:
    """A mount whose target is where commands can write, and so may have been redirected."""

    target: str
    device: int
    inode: int
    read_only: bool


def check_of(mount: Mount) -> RedirectableMount:
    """Return what must be found at the target of a mount."""
    info = os.fstat(mount.source_fd) if mount.source_fd >= 0 else os.stat(mount.source)
    return RedirectableMount(mount.target, info.st_dev, info.st_ino, mount.kind == "ro")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a command can see, in mount order."""

    access: Access
    mounts: tuple[Mount, ...]
    network: bool
    directory: str
    state_pipe: str
    """The pipe into which the shell writes its state, as the command sees it."""
    base: str
    """An empty directory on the host to build the view in."""
    grants: tuple[tuple[str, str], ...]
    """The view as Landlock rules: paths as the command sees them, and `list`, `read` or `write`."""
    processes: int
    identity: tuple[object, ...] = ()
    """What the protected paths were when the view was made. If they were replaced, the view no longer protects them."""

    git: GitList | None = None
    """The git commands that the view is for. They find the writable repository in `git_directory`."""
    git_directory: str = ""
    checks: tuple[RedirectableMount, ...] = ()
    """What must hold in the finished view before a command runs in it."""

    joins: tuple[int, ...] = ()
    """Descriptors of the network that the command shares with others of its session; see `network`. The session closes
    them."""
    terminal: bool = False
    """Whether standard input is a terminal that is to control the command."""

    @property
    def sources(self) -> tuple[int, ...]:
        """The open descriptors that the confining program needs."""
        return (*(mount.source_fd for mount in self.mounts if mount.source_fd >= 0), *self.joins)

    def close(self) -> None:
        """Close the descriptors of its sources. Call it once, after the confining program has been started."""
        for mount in self.mounts:
            if mount.source_fd >= 0:
                os.close(mount.source_fd)


def is_below(path: str, directory: str) -> bool:
    """Whether `path` is strictly inside `directory` (both absolute and normal)."""
    return path != directory and path.startswith(directory if directory == "/" else f"{directory}/")
