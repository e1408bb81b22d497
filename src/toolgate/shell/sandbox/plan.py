"""What a sandbox shows: a list of mounts, the same for every layer that can make mounts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from toolgate.protocol.plan import Access

Kind = Literal["ro", "rw", "tmpfs", "proc", "dev", "symlink", "dir", "seal"]


@dataclass(frozen=True, slots=True)
class Mount:
    """One step of building the view. `source` is a host path, or the text of a symbolic link."""

    kind: Kind
    target: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a command can see, in the order in which it is mounted."""

    access: Access
    mounts: tuple[Mount, ...]
    network: bool
    directory: str
    state_file: str
    """Where the shell writes its dump, as the command sees it."""
    base: str
    """An empty directory of the host's to build the view on."""
    grants: tuple[tuple[str, str], ...]
    """The same as Landlock rules: paths as the command sees them, and `list`, `read` or `write`."""
    processes: int
    identity: tuple[object, ...] = ()
    """What the protected paths were when the view was made; a view whose paths were replaced protects nothing."""


def is_below(path: str, directory: str) -> bool:
    """Whether `path` is strictly inside `directory` (both absolute and normal)."""
    return path != directory and os.path.commonpath((path, directory)) == directory
