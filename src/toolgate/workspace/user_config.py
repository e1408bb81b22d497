"""Reads and writes the user's own files, which are outside every project root."""

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

from toolgate.workspace.temporary import Temporary

LARGEST_CONFIG = 1 << 20
"""Largest configuration file, in bytes."""


def read_config(path: Path, *, largest: int = LARGEST_CONFIG) -> str | None:
    """Return the text of a regular UTF-8 file, or None if it does not exist. Raises `OSError` or `ValueError`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            content = file.read(largest + 1)
    finally:
        os.close(fd)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None


def update_config(path: Path, change: Callable[[str | None], str], *, largest: int = LARGEST_CONFIG) -> None:
    """Replace a user's file with what `change` returns: atomically, readable only by the user, one writer at a time.

    Other writers wait. Missing directories are created. Raises `OSError` or `ValueError`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        content = change(read_config(path, largest=largest)).encode()
        if len(content) > largest:
            raise ValueError(f"it would be larger than {largest} bytes")
        temporary = Temporary(directory, 0o600)
        try:
            with os.fdopen(temporary.fd, "wb", closefd=False) as file:
                file.write(content)
            os.fsync(temporary.fd)
            temporary.replace(path.name)
        finally:
            temporary.close()
    finally:
        os.close(directory)
