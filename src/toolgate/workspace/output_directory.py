"""An open directory for outputs: free names, what is kept in it, and what has to go.

The outputs of a session lie in a directory of the session's own, and the directory for outputs has a link to each.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from toolgate.workspace.outputs import OUTPUTS, is_output_name

T = TypeVar("T")

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_ADOPTED = 1 << 30
"""Bytes of added files that are kept at the same time."""
_MOST_TRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDirectory:
    """An open directory for outputs."""

    path: str
    """What answers call it."""
    fd: int
    """Where its files are."""
    shown: int = -1
    """Where links to them are; -1: the files are there themselves."""
    lead: str = ""
    """What a link needs in front of a name."""
    everybody: int = -1
    """The directory that has those of all sessions in it."""

    def take_name(self, stem: str, suffix: str, make: Callable[[str], T]) -> tuple[str, T]:
        """Make a file under the first name that is free, also among the names of other sessions."""
        for number in range(1, _MOST_TRIES):
            name = f"{stem}{suffix}" if number == 1 else f"{stem}_{number}{suffix}"
            with suppress(FileExistsError):
                if self.shown >= 0:
                    self._link(name)
                try:
                    return name, make(name)
                except BaseException:
                    self._unlink_shown(name)
                    raise
        raise FileExistsError(f"{_MOST_TRIES} outputs in one second")

    def _link(self, name: str) -> None:
        try:
            os.symlink(f"{self.lead}/{name}", name, dir_fd=self.shown)
        except FileExistsError:
            raise
        except OSError as error:  # a file system without links: the file tools find the file all the same
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise

    def _unlink_shown(self, name: str) -> None:
        if self.shown >= 0:
            _unlink(name, self.shown)

    def discard(self, name: str) -> None:
        """Remove a file that was made."""
        self._unlink_shown(name)
        _unlink(name, self.fd)

    def folders(self) -> Iterator[int]:
        """Every directory that has outputs in it, open while it is looked at: those of all sessions, and the links."""
        if self.everybody < 0:
            yield self.fd
            return
        yield self.shown
        for name in os.listdir(self.everybody):
            try:
                fd = os.open(name, DIRECTORY, dir_fd=self.everybody)
            except (FileNotFoundError, NotADirectoryError):
                continue
            try:
                yield fd
            finally:
                os.close(fd)

    def remove_older(self, than: float) -> None:
        """Remove what was last changed before a time, of every session."""
        for folder in self.folders():
            for name, info in outputs_in(folder):
                if info.st_mtime < than:
                    _unlink(name, folder)
        if self.everybody < 0:
            return
        for name in os.listdir(self.everybody):
            with suppress(OSError):  # a file, one with outputs in it, or already removed
                if os.stat(name, dir_fd=self.everybody, follow_symlinks=False).st_mtime < than:
                    os.rmdir(name, dir_fd=self.everybody)

    def make_room(self, size: int) -> None:
        """Remove added files of all sessions, the oldest first, until they and a new one are within the limit."""
        found: list[tuple[float, int, str, int]] = []
        for folder in self.folders():
            inode = os.fstat(folder).st_ino
            added = [(name, info) for name, info in outputs_in(folder) if stat.S_ISREG(info.st_mode)]
            found += [(info.st_mtime, inode, name, info.st_size) for name, info in added if name.endswith(".log")]
        excess = size + sum(entry[3] for entry in found) - MOST_ADOPTED
        if excess <= 0:
            return
        surplus: set[tuple[int, str]] = set()
        for _, inode, name, freed in sorted(found):
            if excess > 0:
                surplus.add((inode, name))
                excess -= freed
        for folder in self.folders():
            inode = os.fstat(folder).st_ino
            for name, info in outputs_in(folder):
                if (inode, name) in surplus or (stat.S_ISLNK(info.st_mode) and any(name == one for _, one in surplus)):
                    _unlink(name, folder)


def outputs_in(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """Names of outputs, and of links to them, and what each is."""
    for name in os.listdir(folder):
        if is_output_name(name):
            with suppress(FileNotFoundError):  # another process sweeps too
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(info.st_mode) or (stat.S_ISLNK(info.st_mode) and _leads_to_output(name, folder)):
                    yield name, info


def _leads_to_output(name: str, folder: int) -> bool:
    return f"../{OUTPUTS}/" in os.readlink(name, dir_fd=folder)


def _unlink(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
