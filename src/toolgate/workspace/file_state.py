"""What a file is recognised by: its content where it is small, its inode, size and modification time otherwise.

The change time says nothing about the content: a new hard link, a removed one or another mode change it too.
"""

import hashlib
import os
import stat
import time

ABSENT = "absent"
"""The state of a path where nothing is."""
HASHED = 1 << 20
"""Bytes up to which a file that is read is remembered by its content."""
_COMPARED = 1 << 18
"""Bytes up to which a file is compared by its content before it is changed."""
_SETTLED_NS = 50_000_000


def identity(info: os.stat_result) -> str:
    """Equal identities of a settled file mean that nothing at all happened to it."""
    return f"{stamp(info)}:{info.st_ctime_ns}"


def stamp(info: os.stat_result) -> str:
    """The same without the change time: equal as long as nobody writes the file or puts another in its place."""
    return f"{info.st_dev}:{info.st_ino}:{info.st_size}:{info.st_mtime_ns}"


def is_settled(info: os.stat_result) -> bool:
    """Whether the file was last changed long enough ago for a later change to have another time."""
    return time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > _SETTLED_NS


def digest_of(content: bytes) -> str:
    """The hash that a content is remembered by."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def digest_file(fd: int, info: os.stat_result, most: int = HASHED) -> str | None:
    """The hash of an open file, or None where it is too large to be worth it."""
    return digest_of(os.pread(fd, info.st_size, 0)) if info.st_size <= most else None


def state_of_file(fd: int, info: os.stat_result) -> str:
    """The state of an open file: it changes whenever the content does."""
    digest = digest_file(fd, info, _COMPARED) if stat.S_ISREG(info.st_mode) else None
    return stamp(info) if digest is None else f"content:{digest}"
