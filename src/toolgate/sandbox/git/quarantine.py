"""Moves entries aside that would make the person's git run something; never through a link, and never in vain."""

from __future__ import annotations

import os
import secrets
import stat

SUFFIX = ".set-aside-"
"""Behind it stands a number that no command can foresee, so that nothing can be put in the way."""


def set_aside(directory: int, name: str) -> bool:
    """Rename an entry of an opened directory; False if it is not there any more."""
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
    """Make a directory writable again that a command has closed."""
    path = f"/proc/self/fd/{directory}"  # the descriptor may be one that only stands for the directory
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | 0o700)
