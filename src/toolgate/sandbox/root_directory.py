"""The project root as an open directory. Paths below it are opened without following links."""

from __future__ import annotations

import os
import stat
from typing import Literal

from toolgate.system import O_CLOEXEC, O_NOFOLLOW, O_PATH
from toolgate.workspace.confine import choose_opener
from toolgate.workspace.oserrors import is_shortage

Kind = Literal["absent", "file", "directory", "other"]
_LOOK = O_PATH | O_NOFOLLOW | O_CLOEXEC


class RootDirectory:
    """Opens, creates and removes entries below one directory. Commands may change the tree at any time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open = choose_opener("auto", self.fd)[1]

    def close(self) -> None:
        """Close the directory."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def open(self, relative: str, flags: int) -> int:
        """Open a path. A link anywhere in it raises `ELOOP`."""
        return self._open(self.fd, relative, flags | os.O_NOFOLLOW, links=False)

    def look(self, relative: str) -> int:
        """Return an `O_PATH` descriptor of an entry. It cannot be read or written."""
        return self.open(relative, _LOOK)

    def stat(self, relative: str) -> os.stat_result | None:
        """Return the status of an entry; None if it does not exist.

        A link in its parents raises `OSError`. A link at the end is described itself.
        """
        try:
            fd, name = self.parent(relative)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        finally:
            os.close(fd)

    def kind(self, relative: str) -> Kind:
        """Return what kind of entry it is. A link, also in its parents, is `other`."""
        try:
            info = self.stat(relative)
        except OSError as error:
            if is_shortage(error):
                raise
            return "other"
        if info is None:
            return "absent"
        if stat.S_ISDIR(info.st_mode):
            return "directory"
        return "file" if stat.S_ISREG(info.st_mode) else "other"

    def parent(self, relative: str) -> tuple[int, str]:
        """Open the parent directory of a path; return it and the path's last name."""
        directory, _, name = relative.rpartition("/")
        return self._open(self.fd, directory or ".", os.O_PATH | os.O_DIRECTORY, links=False), name

    def read(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a regular file; None if there is none or if it is larger than `limit` bytes."""
        try:
            fd = self.open(relative, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            if is_shortage(error):
                raise
            return None
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size > limit:
                return None
            text = os.read(fd, limit + 1)
            return text if len(text) <= limit else None
        finally:
            os.close(fd)
