"""Opening what lies in a directory that is already open: never through a link, never waiting for a pipe."""

import os

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

scan_directory = os.scandir
"""The entries of an open directory."""


def open_directory_in(parent: int, name: str) -> int:
    """A descriptor of the directory `name` in the directory `parent`."""
    return os.open(name, _DIRECTORY, dir_fd=parent)


def open_file_in(parent: int | None, name: str) -> int:
    """A descriptor of the file `name` in the directory `parent`; None: the one that this process was started in."""
    return os.open(name, _FILE, dir_fd=parent)


def open_current_directory() -> int:
    """A descriptor of the directory that this process was started in."""
    return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
