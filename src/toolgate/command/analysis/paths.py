"""Finds out where a path leads: inside the root, to a private directory that may be used freely, or outside."""

import fnmatch
import posixpath
import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from toolgate.command.analysis.plan import Surroundings
from toolgate.command.words import UNRESOLVED

_DEVICES = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty")
)
_DESCRIPTORS = "/dev/fd/"
_TOPS = frozenset({"/", "/dev", "/var", "/var/lib"})
"""Directories in which the sandbox shows only the names of a few others."""
_PROCESS = re.compile(r"/proc/[^/]+/(?:root|cwd|fd|fdinfo|environ|mem|map_files|task)(?:/|$)|/proc/kcore$")
"""Paths that lead from a process to its memory, its variables or any other file."""
_PATTERN = re.compile(r"[*?[]")
_MAX_MATCHES = 1000
_MAX_PATH = 4096
"""Maximum characters of a path that is examined. The kernel opens no longer ones."""


class Zone(Enum):
    """On which side of the root's border a path is."""

    inside = auto()
    free = auto()
    """A device such as `/dev/null`, which anything may read and write."""
    scratch = auto()
    """A private directory that may be used freely."""
    shown = auto()
    """A part of the system outside the root that the sandbox shows read-only."""
    outside = auto()
    unknown = auto()


class LocatedPath(NamedTuple):
    """A path, and on which side of the root's border it is."""

    zone: Zone
    paths: tuple[str, ...] = ()
    """Relative to the root, one for every directory that it may be resolved from."""


_OUTSIDE = LocatedPath(Zone.outside)
_FREE = LocatedPath(Zone.free)
_SCRATCH = LocatedPath(Zone.scratch)
_SHOWN = LocatedPath(Zone.shown)
_UNKNOWN = LocatedPath(Zone.unknown)


def locate(text: str, cwds: Sequence[str | None], surroundings: Surroundings) -> LocatedPath:
    """Return where `text` leads, as a path that is typed in one of the directories `cwds`."""
    if text.startswith("~+"):
        text = "." + text[2:]
    elif text.startswith("~"):
        text = surroundings.home + text[1:] if surroundings.home and text[1:2] in ("", "/") else "/~"
    if text.startswith("/"):
        return _absolute(text, surroundings) if len(text) <= _MAX_PATH else _OUTSIDE
    if text.startswith(UNRESOLVED):
        return _UNKNOWN
    found: dict[str, None] = {}
    for cwd in cwds:
        if cwd is None or len(cwd) + len(text) > _MAX_PATH:
            location = _OUTSIDE if ".." in text.split("/") else _UNKNOWN
        elif cwd.startswith("/"):
            location = _absolute(f"{cwd}/{text}", surroundings)
        else:
            normal = posixpath.normpath(f"{cwd}/{text}")
            location = _OUTSIDE if normal.split("/", 1)[0] == ".." else LocatedPath(Zone.inside, (normal,))
        if location.zone is not Zone.inside:
            return location
        found.update(dict.fromkeys(location.paths))
    if UNRESOLVED in text:
        return _UNKNOWN
    return LocatedPath(Zone.inside, tuple(found))


def expand(pattern: str, surroundings: Surroundings) -> list[str] | None:
    """Return the paths that a pattern (relative to the root) matches; None if they are not known."""
    if "{" in pattern or "\\" in pattern:
        return None
    found = ["."]
    for part in pattern.split("/"):
        if not _PATTERN.search(part):
            found = [posixpath.normpath(f"{directory}/{part}") for directory in found]
            continue
        deeper: list[str] = []
        for directory in found:
            entries = surroundings.entries(directory)
            if entries is None or len(deeper) > _MAX_MATCHES:
                return None
            names = fnmatch.filter(entries, part)
            deeper += [
                posixpath.normpath(f"{directory}/{name}")
                for name in names
                if not name.startswith(".") or part.startswith(".")
            ]
        found = deeper
    return [path for path in found if surroundings.kind(path) != "absent"]


def _absolute(text: str, surroundings: Surroundings) -> LocatedPath:
    normal = posixpath.normpath(text)
    if normal.startswith("//"):
        normal = normal[1:]
    if normal in _DEVICES or normal.startswith(_DESCRIPTORS):
        return _FREE
    relative = _beneath(normal, surroundings.root)
    if relative is not None:
        return _UNKNOWN if UNRESOLVED in relative else LocatedPath(Zone.inside, (relative,))
    if any(_beneath(normal, directory) is not None for directory in surroundings.scratch):
        return _SCRATCH
    return _SHOWN if _is_shown(normal, surroundings) else _OUTSIDE


def _is_shown(normal: str, surroundings: Surroundings) -> bool:
    if UNRESOLVED in normal or _PROCESS.match(normal):
        return False
    if any(_beneath(normal, path) is not None for path in surroundings.hidden):
        return False
    return normal in _TOPS or any(_beneath(normal, directory) is not None for directory in surroundings.shown)


def _beneath(normal: str, directory: str) -> str | None:
    if normal == directory:
        return "."
    prefix = directory if directory.endswith("/") else directory + "/"
    return normal[len(prefix) :] if normal.startswith(prefix) else None
