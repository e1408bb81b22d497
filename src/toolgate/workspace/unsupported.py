"""The project root on a system that cannot confine it: it has a path, and no file beneath it can be opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.system import is_linux, linux_only
from toolgate.workspace.own_names import OwnFiles
from toolgate.workspace.root import Workspace


def open_root(root: str | os.PathLike[str]) -> Workspace:
    """Open the project root; on a system other than Linux, return one whose files cannot be opened."""
    return Workspace(root) if is_linux() else UnsupportedWorkspace(root)


class UnsupportedWorkspace(Workspace):
    """A root without files, for the chat and the gateway: they work with the tools that need no files."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        given = os.path.abspath(os.fspath(root))
        if not os.path.isdir(given):
            raise NotADirectoryError(20, "Not a directory", given)
        self.root = Path(os.path.realpath(given))
        self._names = (str(self.root), given)
        self._fd = -1
        self.closed = False
        self.generation = 0
        self.own_paths = set()
        self.own_files = OwnFiles()
        self.path_rules = None
        self.programs_root = str(self.root)
        self.prefix = self.extra = self.extra_paths = ()

    def close(self) -> None:
        """Close nothing."""
        self.closed = True

    def for_session(self, directory: str, owner: str) -> Workspace:
        """Return this root: sessions have no output files here."""
        return self

    @property
    def fd(self) -> NoReturn:
        """Nothing is opened here."""
        raise ToolError(ErrorCode.EXECUTION_ERROR, linux_only("Working on files"))
