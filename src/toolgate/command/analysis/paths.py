"""Where a path leads: beneath the root, to a private place that may be used freely, or outside."""

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
"""Directories of which the sandbox shows the names of a few others."""
_PROCESS = re.compile(r"/proc/[^/]+/(?:root|cwd|fd|fdinfo|environ|mem|map_files|task)(?:/|$)|/proc/kcore$")
"""What leads from a process to its memory, its variables or any other file."""
_PATTERN = re.compile(r"[*?[]")
_MAX_MATCHES = 1000
_MAX_PATH = 4096
"""Characters of a path that is looked at; the kernel opens no longer one."""


class Where(Enum):
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


class JudgedPath(NamedTuple):
    """A path, judged."""

    where: Where
    paths: tuple[str, ...] = ()
    """Relative to the root, one for every directory that it may be resolved from."""


_OUTSIDE = JudgedPath(Where.outside)
_FREE = JudgedPath(Where.free)
_SCRATCH = JudgedPath(Where.scratch)
_SHOWN = JudgedPath(Where.shown)
_UNKNOWN = JudgedPath(Where.unknown)


def locate(text: str, cwds: Sequence[str | None], around: Surroundings) -> JudgedPath:
    """Judge `text` as a path typed in one of the directories `cwds`."""
    if text.startswith("~+"):
        text = "." + text[2:]
    elif text.startswith("~"):
        text = around.home + text[1:] if around.home and text[1:2] in ("", "/") else "/~"
    if text.startswith("/"):
        return _absolute(text, around) if len(text) <= _MAX_PATH else _OUTSIDE
    if text.startswith(UNRESOLVED):
        return _UNKNOWN
    found: dict[str, None] = {}
    for cwd in cwds:
        if cwd is None or len(cwd) + len(text) > _MAX_PATH:
            place = _OUTSIDE if ".." in text.split("/") else _UNKNOWN
        elif cwd.startswith("/"):
            place = _absolute(f"{cwd}/{text}", around)
        else:
            normal = posixpath.normpath(f"{cwd}/{text}")
            place = _OUTSIDE if normal.split("/", 1)[0] == ".." else JudgedPath(Where.inside, (normal,))
        if place.where is not Where.inside:
            return place
        found.update(dict.fromkeys(place.paths))
    if UNRESOLVED in text:
        return _UNKNOWN
    return JudgedPath(Where.inside, tuple(found))


def expand(pattern: str, around: Surroundings) -> list[str] | None:
    """What a pattern (relative to the root) finds; None if that is not known."""
    if "{" in pattern or "\\" in pattern:
        return None
    found = ["."]
    for part in pattern.split("/"):
        if not _PATTERN.search(part):
            found = [posixpath.normpath(f"{directory}/{part}") for directory in found]
            continue
        deeper: list[str] = []
        for directory in found:
            entries = around.entries(directory)
            if entries is None or len(deeper) > _MAX_MATCHES:
                return None
            names = fnmatch.filter(entries, part)
            deeper += [
                posixpath.normpath(f"{directory}/{name}")
                for name in names
                if not name.startswith(".") or part.startswith(".")
            ]
        found = deeper
    return [path for path in found if around.kind(path) != "absent"]


def _absolute(text: str, around: Surroundings) -> JudgedPath:
    normal = posixpath.normpath(text)
    if normal.startswith("//"):
        normal = normal[1:]
    if normal in _DEVICES or normal.startswith(_DESCRIPTORS):
        return _FREE
    relative = _beneath(normal, around.root)
    if relative is not None:
        return _UNKNOWN if UNRESOLVED in relative else JudgedPath(Where.inside, (relative,))
    if any(_beneath(normal, directory) is not None for directory in around.scratch):
        return _SCRATCH
    return _SHOWN if _is_shown(normal, around) else _OUTSIDE


def _is_shown(normal: str, around: Surroundings) -> bool:
    if UNRESOLVED in normal or _PROCESS.match(normal):
        return False
    if any(_beneath(normal, path) is not None for path in around.hidden):
        return False
    return normal in _TOPS or any(_beneath(normal, directory) is not None for directory in around.shown)


def _beneath(normal: str, directory: str) -> str | None:
    if normal == directory:
        return "."
    prefix = directory if directory.endswith("/") else directory + "/"
    return normal[len(prefix) :] if normal.startswith(prefix) else None
