"""Mount points for protected paths that do not exist yet: made for the session, removed with the last one."""

from __future__ import annotations

import fcntl
import os
import stat

_MARK = stat.S_ISVTX
"""The sticky bit on an empty entry says that it is ours; nobody sets it on an empty file or an empty `.git`."""


class Stubs:
    """Empty entries inside the root. Sessions of several processes share them through a lock on each."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._held: dict[str, int] = {}

    def ensure(self, relative: str, *, file: bool = False) -> bool:
        """Make and hold a stub where nothing is; False when the root cannot be written, so that nobody can."""
        path = os.path.join(self._root, relative)
        while True:
            try:
                _make(path, file)
            except FileExistsError:
                pass
            except (PermissionError, OSError) as error:
                if isinstance(error, PermissionError) or error.errno == 30:  # EROFS
                    return False
                raise
            if self._hold(relative, path):
                return True

    def _hold(self, relative: str, path: str) -> bool:
        if relative in self._held:
            if os.fstat(self._held[relative]).st_nlink and os.path.lexists(path):
                return True
            os.close(self._held.pop(relative))
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        fcntl.flock(fd, fcntl.LOCK_SH)
        if os.fstat(fd).st_nlink == 0:  # another session removed it in between
            os.close(fd)
            return False
        self._held[relative] = fd
        return True

    def hold_existing(self, relative: str) -> None:
        """Hold a stub that another session made, so that it is not removed under this one."""
        path = os.path.join(self._root, relative)
        if relative not in self._held and is_stub(path):
            self._hold(relative, path)

    def release(self) -> None:
        """Let go; whoever is the last removes what is still an empty stub."""
        for relative, fd in sorted(self._held.items(), reverse=True):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(os.path.join(self._root, relative))
            except OSError:  # in use by another session, filled by somebody, or already gone: it stays as it is
                continue
            finally:
                os.close(fd)
        self._held.clear()


def is_stub(path: str) -> bool:
    """Whether an entry is one of these stubs, and still empty."""
    try:
        info = os.lstat(path)
        if not info.st_mode & _MARK:
            return False
        return not os.listdir(path) if stat.S_ISDIR(info.st_mode) else stat.S_ISREG(info.st_mode) and not info.st_size
    except OSError:
        return False


def _make(path: str, file: bool) -> None:
    if file:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600 | _MARK)
        os.close(fd)
    else:
        os.mkdir(path, 0o700)
        os.chmod(path, 0o700 | _MARK, follow_symlinks=True)


def _remove(path: str) -> None:
    if not is_stub(path):
        return
    if stat.S_ISDIR(os.lstat(path).st_mode):
        os.rmdir(path)
    else:
        os.unlink(path)
