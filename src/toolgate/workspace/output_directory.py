"""An open output directory: finds free names, lists what is stored in it, and removes old files.

A session's output files are in a directory of its own. The output directory has a link to each.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from toolgate.system import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW
from toolgate.workspace.outputs import OUTPUTS, is_output_name

T = TypeVar("T")

DIRECTORY = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
MAX_ADOPTED = 1 << 30
"""Most bytes of added files that are stored at the same time."""
_MAX_TRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDirectory:
    """An open output directory."""

    path: str
    """The path that answers use."""
    fd: int
    """The directory that holds its files."""
    shown: int = -1
    """The directory that holds links to them; -1 if it holds the files themselves."""
    lead: str = ""
    """What a link's target starts with."""
    everybody: int = -1
    """The directory that contains those of all sessions."""

    def take_name(self, stem: str, suffix: str, make: Callable[[str], T]) -> tuple[str, T]:
        """Create a file under the first free name, also considering the names of other sessions."""
        for number in range(1, _MAX_TRIES):
            name = f"{stem}{suffix}" if number == 1 else f"{stem}_{number}{suffix}"
            with suppress(FileExistsError):
                if self.shown >= 0:
                    self._link(name)
                try:
                    return name, make(name)
                except BaseException:
                    self._unlink_shown(name)
                    raise
        raise FileExistsError(f"{_MAX_TRIES} outputs in one second")

    def _link(self, name: str) -> None:
        try:
            os.symlink(f"{self.lead}/{name}", name, dir_fd=self.shown)
        except FileExistsError:
            raise
        except OSError as error:  # a file system without links: the file tools find the file anyway
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise

    def _unlink_shown(self, name: str) -> None:
        if self.shown >= 0:
            _unlink(name, self.shown)

    def discard(self, name: str) -> None:
        """Remove a file that was created."""
        self._unlink_shown(name)
        _unlink(name, self.fd)

    def folders(self) -> Iterator[int]:
        """Yield every directory with output files, opened: those of all sessions, and the one with the links."""
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
        """Remove the files of every session that were last changed before a time."""
        for folder in self.folders():
            for name, info in outputs_in(folder):
                if info.st_mtime < than:
                    _unlink(name, folder)
        if self.everybody < 0:
            return
        for name in os.listdir(self.everybody):
            with suppress(OSError):  # a file, not empty, or already removed
                if os.stat(name, dir_fd=self.everybody, follow_symlinks=False).st_mtime < than:
                    os.rmdir(name, dir_fd=self.everybody)

    def make_room(self, size: int) -> None:
        """Remove the oldest added files of all sessions until there is space for a new one."""
        found: list[tuple[float, int, str, int]] = []
        for folder in self.folders():
            inode = os.fstat(folder).st_ino
            added = [(name, info) for name, info in outputs_in(folder) if stat.S_ISREG(info.st_mode)]
            found += [(info.st_mtime, inode, name, info.st_size) for name, info in added if name.endswith(".log")]
        excess = size + sum(entry[3] for entry in found) - MAX_ADOPTED
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
    """Yield the names of output files and of links to them, with their status."""
    for name in os.listdir(folder):
        if is_output_name(name):
            with suppress(FileNotFoundError):  # another process removed it
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(info.st_mode) or (stat.S_ISLNK(info.st_mode) and _leads_to_output(name, folder)):
                    yield name, info


def _leads_to_output(name: str, folder: int) -> bool:
    return f"../{OUTPUTS}/" in os.readlink(name, dir_fd=folder)


def _unlink(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
