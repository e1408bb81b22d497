"""Checks that the project root is still where it was opened, and opens it again if it has come back.

The root is the directory that was opened. If it was deleted, a new directory at the same real path replaces it,
provided that no link leads there and that it has the same owner. The same applies to a file system that was unmounted,
once one is mounted there again. While the opened directory exists elsewhere, nothing replaces it.
"""

import os
import stat

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.confine import Opener


def mount_point(path: str) -> str:
    """Return the mount point of a directory's file system. The path is a real one."""
    device = os.stat(path).st_dev
    while path != "/" and os.stat(above := os.path.dirname(path)).st_dev == device:
        path = above
    return path


def reopen_if_replaced(fd: int, path: str, mounted_at: str, opener: Opener) -> bool:
    """Make sure that `fd` is the directory at `path`; return whether it had to be opened again.

    `mounted_at` is the mount point of its file system. The descriptor keeps its number. Raises `ToolError` if the root
    is gone.
    """
    opened = os.fstat(fd)
    try:
        there = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        raise _gone() from None
    except OSError:  # the path is not accessible, but the directory is open: using it will show
        return False
    if os.path.samestat(opened, there):
        return False
    detached = _is_detached(fd)
    if not stat.S_ISDIR(there.st_mode) or (opened.st_nlink and not detached):
        raise _replaced()
    if detached and mount_point(path) != mounted_at:
        raise _gone()
    _open_again(fd, path, opened.st_uid, opener)
    return True


def _open_again(fd: int, path: str, owner: int, opener: Opener) -> None:
    try:
        top = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            new = opener(top, path.strip("/"), os.O_PATH | os.O_DIRECTORY, links=False)
        finally:
            os.close(top)
    except OSError:
        raise _replaced() from None
    try:
        if os.fstat(new).st_uid != owner:
            raise _replaced()
        os.dup2(new, fd, inheritable=False)
    finally:
        os.close(new)


def _is_detached(fd: int) -> bool:
    """Whether the file system of an open directory is no longer mounted anywhere."""
    try:
        with open(f"/proc/self/fdinfo/{fd}", "rb") as info:
            mount = next(line.split()[1] for line in info if line.startswith(b"mnt_id:"))
        with open("/proc/self/mountinfo", "rb") as mounts:
            return all(line.split(b" ", 1)[0] != mount for line in mounts)
    except (OSError, StopIteration):
        return False


def _gone() -> ToolError:
    return ToolError(
        ErrorCode.NOT_FOUND,
        "The project root is gone: its directory was deleted, moved or unmounted.",
        "Ask the user to put it back at the same place, then repeat the call.",
    )


def _replaced() -> ToolError:
    return ToolError(
        ErrorCode.CONFLICT,
        "The project root is gone: something else is in its place, and that is not used without being asked for.",
        "Ask the user to put the original back, or to open the project again.",
    )
