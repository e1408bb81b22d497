"""Identifies the state of a file: by its content if it is small, else by inode, size and modification time.

The change time is not used: new or removed hard links and mode changes alter it too.
"""

import hashlib
import os
import stat
import time

ABSENT = "absent"
"""The state of a path that does not exist."""
HASHED = 1 << 20
"""Largest file whose content is hashed when it is read, in bytes."""
_COMPARED = 1 << 18
"""Largest file that is compared by content before a change, in bytes."""
_SETTLED_NS = 50_000_000


def identity(info: os.stat_result) -> str:
    """Return the file's identity. If that of a settled file is unchanged, nothing happened to it."""
    return f"{stamp(info)}:{info.st_ctime_ns}"


def stamp(info: os.stat_result) -> str:
    """Return the identity without the change time. It is unchanged unless the file is written or replaced."""
    return f"{info.st_dev}:{info.st_ino}:{info.st_size}:{info.st_mtime_ns}"


def is_settled(info: os.stat_result) -> bool:
    """Whether the last change is old enough that a later one gets another time stamp."""
    return time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > _SETTLED_NS


def digest_of(content: bytes) -> str:
    """Return the hash of a content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def digest_file(fd: int, info: os.stat_result, limit: int = HASHED) -> str | None:
    """Return the hash of an open file; None if it is too large."""
    return digest_of(os.pread(fd, info.st_size, 0)) if info.st_size <= limit else None


def state_of_file(fd: int, info: os.stat_result) -> str:
    """Return the state of an open file. It changes whenever the content does."""
    digest = digest_file(fd, info, _COMPARED) if stat.S_ISREG(info.st_mode) else None
    return stamp(info) if digest is None else f"content:{digest}"


def planned_state(fd: int, info: os.stat_result, content: bytes | None) -> tuple[str, bytes | None]:
    """Return the state of an open file, and its content if that was read and is the state."""
    if content is None or info.st_size > _COMPARED:
        return state_of_file(fd, info), None
    return f"content:{digest_of(content)}", content


def is_as_planned(fd: int, before: str, content: bytes | None) -> bool:
    """Whether an open file has the state `before`; with `content`, whether it has that content."""
    info = os.fstat(fd)
    if content is None or not stat.S_ISREG(info.st_mode):
        return state_of_file(fd, info) == before
    return os.pread(fd, len(content) + 1, 0) == content
