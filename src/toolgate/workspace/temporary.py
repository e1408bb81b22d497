"""A new file that appears under its name either complete or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from toolgate.system import fcntl

TEMPORARY = ".toolgate-tmp-"
"""Prefix of the names of unfinished files. Listings omit them."""
_DESCRIPTORS = "/proc/self/fd"
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.EPERM)


class Temporary:
    """An unfinished file in its final directory. It is locked while its writer lives."""

    def __init__(self, directory: int, mode: int) -> None:
        self._directory = directory
        self._name: str | None = None
        self.fd = self._open(mode)
        with suppress(OSError):  # a file system without locks: nothing there is treated as abandoned
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _open(self, mode: int) -> int:
        try:
            if os.path.isdir(_DESCRIPTORS):  # without /proc, an unnamed file could not be given a name
                return os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, mode, dir_fd=self._directory)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
        self._name = _new_name()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._name, flags, mode, dir_fd=self._directory)

    def replace(self, name: str) -> None:
        """Replace the existing file."""
        temporary = self._name or _new_name()
        if self._name is None:
            self._link(temporary)
            self._name = temporary
        os.rename(temporary, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._name = None

    def create(self, name: str) -> None:
        """Give the file its name. Raises `FileExistsError` if the name is taken."""
        if self._name is None:
            self._link(name)
        else:
            os.link(self._name, name, src_dir_fd=self._directory, dst_dir_fd=self._directory, follow_symlinks=False)
            os.unlink(self._name, dir_fd=self._directory)
            self._name = None

    def _link(self, name: str) -> None:
        os.link(f"{_DESCRIPTORS}/{self.fd}", name, dst_dir_fd=self._directory, follow_symlinks=True)

    def close(self) -> None:
        """Remove the file unless it has its name."""
        if self._name is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._directory)
        os.close(self.fd)


def _new_name() -> str:
    return f"{TEMPORARY}{secrets.token_hex(8)}"


@contextmanager
def temporary_in(directory: int, mode: int) -> Iterator[Temporary]:
    """Yield an unfinished file. It is removed unless it was given its name."""
    temporary = Temporary(directory, mode)
    try:
        yield temporary
    finally:
        temporary.close()


def sweep(directory: int) -> int:
    """Remove files that killed writers left behind; return how many."""
    removed = 0
    for name in os.listdir(directory):
        if name.startswith(TEMPORARY) and _is_abandoned(directory, name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
                removed += 1
    return removed


def _is_abandoned(directory: int, name: str) -> bool:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, dir_fd=directory)
    except OSError:  # gone, or not accessible
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its writer lives
        return False
    finally:
        os.close(fd)
    return True
