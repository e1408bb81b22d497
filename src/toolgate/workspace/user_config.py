"""Reads and writes the user's own files, which are outside every project root."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from toolgate.system import O_BINARY, O_CLOEXEC, O_NOCTTY, O_NONBLOCK, fcntl
from toolgate.workspace.temporary import Temporary

MAX_CONFIG = 1 << 20
"""Largest configuration file, in bytes."""
_MAX_ATTEMPTS = 10


def read_config(path: Path, *, largest: int = MAX_CONFIG) -> str | None:
    """Return the text of a regular UTF-8 file, or None if it does not exist. Raises `OSError` or `ValueError`."""
    try:
        fd = os.open(path, os.O_RDONLY | O_BINARY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
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


def update_config(path: Path, change: Callable[[str | None], str], *, largest: int = MAX_CONFIG) -> None:
    """Replace a user's file with what `change` returns: atomically, readable only by the user, one writer at a time.

    Other writers wait. If a program that does not wait, such as an editor, has changed the file by the last moment,
    `change` is asked again. Missing directories are created. Raises `OSError` or `ValueError`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":
        return _update_on_windows(path, change, largest)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        for _ in range(_MAX_ATTEMPTS):
            text = read_config(path, largest=largest)
            content = change(text).encode()
            if content == (text or "").encode():
                return None
            if len(content) > largest:
                raise ValueError(f"it would be larger than {largest} bytes")
            if _replace(directory, path, content, text, largest):
                return None
        raise ValueError("another program keeps changing it")
    finally:
        os.close(directory)


def _replace(directory: int, path: Path, content: bytes, before: str | None, largest: int) -> bool:
    """Replace the file, unless it has changed until the last moment."""
    temporary = Temporary(directory, 0o600)
    try:
        with os.fdopen(temporary.fd, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(temporary.fd)
        if read_config(path, largest=largest) != before:
            return False
        temporary.replace(path.name)
        return True
    finally:
        temporary.close()


def _update_on_windows(path: Path, change: Callable[[str | None], str], largest: int) -> None:
    """Replace the file atomically. Directories cannot be locked there, so the last of two writers wins."""
    content = change(read_config(path, largest=largest)).encode()
    if len(content) > largest:
        raise ValueError(f"it would be larger than {largest} bytes")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(path)
