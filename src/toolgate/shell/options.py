"""The operator's options for commands, with their defaults."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.settings.own_files import own_files

if TYPE_CHECKING:
    from toolgate.settings import Settings

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellOptions:
    """Limits and choices of a session's shell."""

    sandbox: str = "auto"
    """A layer of `toolgate.protocol.choices.LAYERS`, or `auto` for the best that works."""
    bubblewrap: str | None = None
    """The `bwrap` to run; None for the system's, else the one from the wheel."""
    timeout: float = 120.0
    """Default timeout of a command, in seconds."""
    most_timeout: float = 600.0
    grace: float = 1.0
    """Seconds between TERM and KILL."""
    memory_bytes: int = 4 * GIB
    """Per process (`RLIMIT_DATA`), and for the whole session if there is a control group."""
    processes: int = 1024
    file_bytes: int = 2 * GIB
    """Largest file that a command can write, in bytes."""
    open_files: int = 4096
    kept_bytes: int = 128 * KIB
    """Bytes of output kept in memory from each end of a stream."""
    stored_bytes: int = 512 * MIB
    """Bytes of one stream kept on disk."""
    command_bytes: int = MIB
    jobs: int = 16
    """Most background jobs of one session at the same time."""
    passed_environment: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    """Further host paths that every command may read."""
    extra: tuple[str, ...] = ()
    """Further host directories that every tool and command may read, and none may write."""
    roots: tuple[str, ...] = ()
    """Further host directories that `access="full"` may write."""
    hidden: tuple[str, ...] = ()
    """The runtime's own files (`own_files`)."""

    @classmethod
    def of(cls, settings: Settings | None, root: str) -> ShellOptions:
        """Return the options from the settings."""
        if settings is None:
            return cls()
        shell = settings.shell
        return cls(
            sandbox=shell.sandbox,
            bubblewrap=shell.bwrap,
            memory_bytes=shell.memory_mb * MIB,
            processes=shell.processes,
            file_bytes=shell.file_mb * MIB,
            passed_environment=shell.environment,
            readable=readable_places(settings),
            extra=settings.workspace.extra,
            roots=shell.roots,
            hidden=tuple(own_files(settings, root)),
        )

    @property
    def ulimits(self) -> dict[str, int]:
        """Return the resource limits in the units of bash's `ulimit`, by option letter."""
        return {
            "c": 0,
            "d": self.memory_bytes // KIB,
            "f": self.file_bytes // KIB,
            "u": self.processes,
            "n": self.open_files,
        }


def _users_skills(settings: Settings) -> tuple[str, ...]:
    """The user's skills, whose scripts commands may run."""
    found = None if settings.user_directory is None else settings.user_directory / "skills"
    return () if found is None or not found.is_dir() else (str(found),)


def readable_places(settings: Settings) -> tuple[str, ...]:
    """Host paths outside the root that every command may read."""
    return (*settings.shell.readable, *_users_skills(settings))


def is_file_below(path: str, places: Iterable[str]) -> bool:
    """Whether an absolute path is a file in one of these directories, with links resolved."""
    if not path.startswith("/"):
        return False
    real = os.path.realpath(path)
    return any(real.startswith(f"{os.path.realpath(place)}/") for place in places) and os.path.isfile(real)
