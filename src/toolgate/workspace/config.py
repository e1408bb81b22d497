"""Reading configuration files of the user, which lie outside every project root."""

import os
import stat
from pathlib import Path

LARGEST_CONFIG = 1 << 20
"""Bytes that a configuration file may have."""


def read_config(path: Path) -> str | None:
    """The text of a regular UTF-8 file, or None where there is none; `OSError` or `ValueError` say what is wrong."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            content = file.read(LARGEST_CONFIG + 1)
    finally:
        os.close(fd)
    if len(content) > LARGEST_CONFIG:
        raise ValueError(f"it is larger than {LARGEST_CONFIG} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None
