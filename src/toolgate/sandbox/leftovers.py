"""Private session directories among the temporary files. Each process removes those whose owners have died.

The owner holds a lock on its directory. The kernel releases the lock when the owner dies, in whichever way and
container. If the lock can be taken, the directory belongs to no living process.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
import time
from contextlib import suppress

from toolgate.system import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_PATH, fcntl
from toolgate.workspace.threads import start_thread

PREFIX = "toolgate-session-"
"""Prefix of these directories' names."""
_TIMEOUT = 5.0
"""Seconds that one process spends on removing the directories of others."""
_MAX_DEPTH = 64
"""Most directory levels that are open at once. Deeper levels are moved up first."""
_ENTER = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
_LOOK = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
_swept: set[tuple[int, str]] = set()


def make_directory(parent: str) -> tuple[str, int]:
    """Make a private directory; return it and the descriptor that holds its lock. Closing that releases it."""
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        try:
            fd = os.open(path, _ENTER)
        except FileNotFoundError:  # another process removed it as abandoned before it was locked
            continue
        if _is_locked(fd) or not os.fstat(fd).st_nlink:
            os.close(fd)
            continue
        return path, fd


def sweep_once(parent: str) -> None:
    """Remove what dead processes left in a directory, once per process and in the background."""
    key = os.getpid(), parent
    if key not in _swept:
        _swept.add(key)
        start_thread(threading.Thread(target=sweep, args=(parent,), name="toolgate-leftovers", daemon=True))


def sweep(parent: str) -> None:
    """Remove this user's directories that belong to no living process. Links are never followed."""
    deadline = time.monotonic() + _TIMEOUT
    with suppress(OSError):
        fd = os.open(parent, _ENTER)
        try:
            for name in os.listdir(fd):
                if time.monotonic() > deadline:
                    return
                if name.startswith(PREFIX):
                    _remove_abandoned(fd, name, deadline)
        finally:
            os.close(fd)


def remove(path: str) -> None:
    """Remove a directory with everything in it, as far as possible."""
    with suppress(OSError):
        fd = os.open(path, _ENTER)
        try:
            _remove_contents(fd, None)
            os.rmdir(path)
        finally:
            os.close(fd)


def _remove_abandoned(parent: int, name: str, deadline: float) -> None:
    try:
        fd = os.open(name, _ENTER, dir_fd=parent)
    except OSError:  # a link, a file, gone, or not accessible
        return
    try:
        if (
            os.fstat(fd).st_uid == os.geteuid()
            and not _is_locked(fd, without_locks=True)
            and _remove_contents(fd, deadline)
        ):
            with suppress(OSError):
                os.rmdir(name, dir_fd=parent)
    finally:
        os.close(fd)


def _is_locked(fd: int, *, without_locks: bool = False) -> bool:
    """Take the lock; True if another process holds it, and `without_locks` if the file system has none."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return without_locks
    return False


def _remove_contents(top: int, deadline: float | None) -> bool:
    """Remove everything in an open directory, even without permission bits; False if the time is up."""
    stack: list[tuple[int, str, set[str]]] = [(os.dup(top), "", set())]
    try:
        while stack:
            if deadline is not None and time.monotonic() > deadline:
                return False
            fd, name, kept = stack[-1]
            child = _remove_files(fd, kept)
            if child is not None:
                _go_into(top, stack, child)
                continue
            os.close(fd)
            stack.pop()
            if stack:
                _remove_directory(stack[-1], name)
        return True
    finally:
        for fd, *_ in stack:
            os.close(fd)


def _remove_files(fd: int, kept: set[str]) -> str | None:
    """Remove files until the first directory, and return its name. `kept` collects what cannot be removed."""
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.name in kept:
                continue
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            try:
                os.unlink(entry.name, dir_fd=fd)
            except OSError:
                kept.add(entry.name)
    return None


def _go_into(top: int, stack: list[tuple[int, str, set[str]]], name: str) -> None:
    parent, _, kept = stack[-1]
    try:
        look = os.open(name, _LOOK, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{look}", 0o700)
            if len(stack) >= _MAX_DEPTH:
                os.rename(name, secrets.token_hex(8), src_dir_fd=parent, dst_dir_fd=top)
                return
            stack.append((os.open(".", _ENTER, dir_fd=look), name, set()))
        finally:
            os.close(look)
    except OSError:
        kept.add(name)


def _remove_directory(above: tuple[int, str, set[str]], name: str) -> None:
    parent, _, kept = above
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:
        kept.add(name)
