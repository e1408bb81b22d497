"""What a sandbox shows: a list of mounts, the same for every layer that can make mounts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from toolgate.protocol.plan import Access
from toolgate.sandbox.git.git_list import GitList

Kind = Literal["ro", "rw", "tmpfs", "shm", "proc", "dev", "symlink", "dir", "seal"]

SHARED_BYTES = 256 << 20
"""Size of `/dev/shm`, which is memory that no resource limit of a process counts."""
SMALL_BYTES = 16 << 20
"""Size of every other directory in memory: there is nothing to put into it but mount points."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One step of building the view. `source` is a host path, or the text of a symbolic link."""

    kind: Kind
    target: str
    source: str = ""
    source_fd: int = -1
    """The source as an open descriptor where commands can write around it; `source` is then only its name."""


@dataclass(frozen=True, slots=True)
class Check:
    """A mount whose target lies where commands can write, so that it may have been led somewhere else."""

    target: str
    device: int
    inode: int
    read_only: bool


def check_of(mount: Mount) -> Check:
    """What must be found at the target of a mount."""
    info = os.fstat(mount.source_fd) if mount.source_fd >= 0 else os.stat(mount.source)
    return Check(mount.target, info.st_dev, info.st_ino, mount.kind == "ro")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a command can see, in the order in which it is mounted."""

    access: Access
    mounts: tuple[Mount, ...]
    network: bool
    directory: str
    state_pipe: str
    """The pipe into which the shell writes its state, as the command sees it."""
    base: str
    """An empty directory of the host's to build the view on."""
    grants: tuple[tuple[str, str], ...]
    """The same as Landlock rules: paths as the command sees them, and `list`, `read` or `write`."""
    processes: int
    identity: tuple[object, ...] = ()
    """What the protected paths were when the view was made; a view whose paths were replaced protects nothing."""

    git: GitList | None = None
    """The git commands that the view is for; they find the repository in `git_directory`, writable."""
    git_directory: str = ""
    checks: tuple[Check, ...] = ()
    """What must be true of the finished view before a command runs in it."""

    def close(self) -> None:
        """Close the descriptors of its sources; once only, when the confining program has been started."""
        for mount in self.mounts:
            if mount.source_fd >= 0:
                os.close(mount.source_fd)


def is_below(path: str, directory: str) -> bool:
    """Whether `path` is strictly inside `directory` (both absolute and normal)."""
    return path != directory and os.path.commonpath((path, directory)) == directory
