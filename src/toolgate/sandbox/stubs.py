"""Empty files and directories as mount points for protected paths that do not exist yet."""

from __future__ import annotations

import errno
import os
import stat

from toolgate.sandbox.root_directory import RootDirectory
from toolgate.system import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, fcntl

_MARK = stat.S_ISVTX
"""The sticky bit marks an empty entry as a stub. Nobody sets it on an empty file or an empty `.git`."""
_OPEN = os.O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK


class Stubs:
    """Stubs below the root. Sessions of several processes share them, with a lock on each.

    Each is created and removed by its name in an open directory, so that links have no effect.
    """

    def __init__(self, root: RootDirectory) -> None:
        self._root = root
        self._held: dict[str, int] = {}

    def ensure(self, relative: str, *, file: bool = False) -> bool:
        """Create and lock a stub if nothing is there; False if the root is read-only, so that commands cannot write."""
        while True:
            try:
                self._make(relative, file)
            except FileExistsError:
                pass
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                    return False
                raise
            if self._hold(relative):
                return True

    def _make(self, relative: str, file: bool) -> None:
        parent, name = self._root.parent(relative)
        try:
            if file:
                fd = os.open(
                    name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent
                )
            else:
                os.mkdir(name, 0o700, dir_fd=parent)
                fd = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=parent)
            try:
                os.fchmod(fd, (0o600 if file else 0o700) | _MARK)
            finally:
                os.close(fd)
        finally:
            os.close(parent)

    def _hold(self, relative: str) -> bool:
        if relative in self._held:
            if self._is_there(relative):
                return True
            os.close(self._held.pop(relative))
        try:
            fd = self._root.open(relative, _OPEN)
        except FileNotFoundError:
            return False
        fcntl.flock(fd, fcntl.LOCK_SH)
        if os.fstat(fd).st_nlink == 0:  # another session removed it meanwhile
            os.close(fd)
            return False
        self._held[relative] = fd
        return True

    def _is_there(self, relative: str) -> bool:
        info = self._root.stat(relative)
        return info is not None and os.path.samestat(info, os.fstat(self._held[relative]))

    def hold_existing(self, relative: str) -> None:
        """Lock a stub that another session made, so that it is not removed while this one needs it."""
        if relative not in self._held and self.is_stub(relative):
            self._hold(relative)

    def release(self) -> None:
        """Release all stubs. The last session removes those that are still empty."""
        for relative, fd in sorted(self._held.items(), reverse=True):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self.is_stub(relative) and self._is_there(relative):
                    self._remove(relative, stat.S_ISDIR(os.fstat(fd).st_mode))
            except OSError:  # in use by another session, no longer empty, or gone: leave it
                continue
            finally:
                os.close(fd)
        self._held.clear()

    def _remove(self, relative: str, is_directory: bool) -> None:
        parent, name = self._root.parent(relative)
        try:
            if is_directory:
                os.rmdir(name, dir_fd=parent)
            else:
                os.unlink(name, dir_fd=parent)
        finally:
            os.close(parent)

    def is_stub(self, relative: str) -> bool:
        """Whether an entry is a stub and still empty."""
        try:
            fd = self._root.open(relative, _OPEN)
        except OSError:
            return False
        try:
            info = os.fstat(fd)
            if not info.st_mode & _MARK:
                return False
            if stat.S_ISDIR(info.st_mode):
                return not os.listdir(fd)
            return stat.S_ISREG(info.st_mode) and not info.st_size
        finally:
            os.close(fd)
