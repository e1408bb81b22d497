"""Reading and keeping files of the user's own, which lie outside every project root."""

import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

from toolgate.workspace.temporary import Temporary

LARGEST_CONFIG = 1 << 20
"""Bytes that a configuration file may have."""


def read_config(path: Path, *, largest: int = LARGEST_CONFIG) -> str | None:
    """The text of a regular UTF-8 file, or None where there is none; `OSError` or `ValueError` say what is wrong."""
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
    """Replace a file of the user's by what `change` makes of it: whole, for nobody else to read, one at a time.

    Whoever else changes it through here waits. Missing directories are made; `OSError` and `ValueError` say what is
    wrong.
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
