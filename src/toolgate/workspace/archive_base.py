"""The commit that an archive builds on: files that are still as the commit has them are not packed."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolgate.workspace.threads import Stop

_SAME = "TOOLGATE.base"
"""The header of a packed file whose content is in the commit."""
_GIT = os.path.join(".", ".git", "")
_OBJECTS = os.path.join(_GIT, "objects", "")

Stamp = tuple[int, int, int, int]
"""Size, time of change, time of the last change of anything, and inode: the same only if nobody wrote the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveBase:
    """A commit, and the files in a directory that are as they came from it."""

    commit: str
    stamps: Mapping[str, Stamp]

    def has(self, member: tarfile.TarInfo, found: os.stat_result) -> bool:
        """Whether a file is still as it came from the commit."""
        return member.isreg() and self.stamps.get(member.name) == _stamp(member.name, found)

    def without_content(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        """What is packed of such a file. Objects of git are not even named: each clone packs them in its own way."""
        if member.name.startswith(_OBJECTS):
            return None
        member.size = 0
        member.pax_headers = {**member.pax_headers, _SAME: "1"}
        return member


def _stamp(name: str, found: os.stat_result) -> Stamp:
    if name.startswith(_OBJECTS):  # their names say what is in them, and git changes their times
        return found.st_size, 0, 0, found.st_ino
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def observe(_stop: Stop, directory: str, commit: str, names: Iterable[str]) -> ArchiveBase:
    """The base of a directory in which these files have just come from the commit."""
    return ArchiveBase(
        commit=commit, stamps={name: _stamp(name, os.lstat(os.path.join(directory, name))) for name in names}
    )


def of_commit(_stop: Stop, clone: str) -> list[str]:
    """The files of a new clone that every clone of the same commit has: not its configuration, index and branches."""
    return [name for name in _files(clone, ".") if not name.startswith(_GIT) or name.startswith(_OBJECTS)]


def fill(fresh: str, clone: str, members: Sequence[tarfile.TarInfo]) -> list[str]:
    """Move the files that were packed without content, and the objects of git, from a clone; return their names."""
    filled = [member.name for member in members if _SAME in member.pax_headers]
    for member in members:
        if _SAME in member.pax_headers:
            path = os.path.join(fresh, member.name)
            os.replace(os.path.join(clone, member.name), path)
            os.chmod(path, member.mode)
    for name in _files(clone, _OBJECTS):
        if _make_parents(fresh, name) and not os.path.lexists(os.path.join(fresh, name)):
            os.replace(os.path.join(clone, name), os.path.join(fresh, name))
            filled.append(name)
    return filled


def _make_parents(directory: str, name: str) -> bool:
    """Make the directories above a file. False if one of them is a link: it may lead out of the directory."""
    path = directory
    for part in os.path.dirname(os.path.normpath(name)).split(os.sep):
        path = os.path.join(path, part)
        if os.path.islink(path) or (part == ".git" and not os.path.isdir(path)):
            return False
        os.makedirs(path, exist_ok=True)
    return True


def _files(directory: str, beneath: str) -> Iterator[str]:
    """The names of all regular files and only those, as archives write them: with `./` in front."""
    for place, _, files in os.walk(os.path.join(directory, beneath)):
        for file in files:
            path = os.path.join(place, file)
            if not os.path.islink(path):
                yield os.path.join(".", os.path.relpath(path, directory))
