"""Moves entries aside that would make git run something, without following links."""

from __future__ import annotations

import os
import secrets
import stat

SUFFIX = ".set-aside-"
"""A random number follows it, so that no command can occupy the name in advance."""


def set_aside(directory: int, name: str) -> bool:
    """Rename an entry of an open directory; False if it no longer exists."""
    for _ in range(2):
        try:
            os.rename(name, f"{name}{SUFFIX}{secrets.token_hex(4)}", src_dir_fd=directory, dst_dir_fd=directory)
        except FileNotFoundError:
            return False
        except PermissionError:
            _open_up(directory)
            continue
        return True
    raise PermissionError(f"{name} cannot be set aside")


def _open_up(directory: int) -> None:
    """Make a directory writable again after a command removed that permission."""
    path = f"/proc/self/fd/{directory}"  # the descriptor may be an `O_PATH` one
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | 0o700)
