"""Finds what a search skips: ripgrep does not report binary or ignored files.

This walk runs beside ripgrep. To stay cheap, it opens only files whose names do not show that they are text, and a few
others.
"""

import os
from collections.abc import Callable, Collection

from toolgate.search.ignore import Ignores
from toolgate.search.walk import TreeWalk, WalkedFolder
from toolgate.workspace.beneath import open_file
from toolgate.workspace.threads import Stopped

MAX_FILES = 2000
"""Most files that are checked by name. In a larger tree, the list of binary files is incomplete."""
MAX_OPENED = 400
"""Most files that are opened."""
MAX_TEXT_OPENED = 64
"""Most files that are opened although their names say that they are text."""
SNIFF = 1 << 16
"""Bytes at the start of a file in which a NUL makes it binary."""

_TEXT = frozenset(
    ".py .pyi .js .jsx .mjs .cjs .ts .tsx .json .md .rst .toml .yaml .yml .html .css .scss .less .vue .svelte .xml "
    ".svg .c .h .cc .cpp .hpp .rs .go .java .kt .scala .swift .rb .php .pl .lua .sh .bash .sql .proto .graphql .cs .fs "
    ".hs .ml .ex .exs .erl .clj .dart .r .jl .tf .ini .cfg".split()
)


def is_binary(fd: int) -> bool:
    """Whether an open file has a NUL near its start and is not UTF-16."""
    start = os.pread(fd, SNIFF, 0)
    return b"\0" in start and start[:2] not in (b"\xff\xfe", b"\xfe\xff")


class SkippedFiles:
    """One walk over the tree of a search."""

    def __init__(
        self,
        fd: int,
        *,
        inherited: list[str] | None,
        hidden: Collection[str],
        wanted: Callable[[str, str], bool] | None,
    ) -> None:
        self.binary: list[str] = []
        """Binary files, relative to the start of the search."""
        self.ignored: list[str] = []
        """Directories that were not entered because a rule ignores them."""
        self.complete = True
        self._wanted = wanted
        self._seen = self._opened = self._text_opened = 0
        self._walk = TreeWalk(fd, ignores=Ignores.inheriting(inherited), hidden=hidden)

    def run(self, give_up: Callable[[], bool]) -> None:
        """Walk until the end, a limit, or until `give_up` returns True."""
        try:
            for folder in self._walk:
                self.ignored.extend(f"{folder.path}{name}/" for name in folder.ignored)
                self._seen += len(folder.files)
                if self._seen > MAX_FILES or give_up():
                    self.complete = False
                    return
                self._look_at(folder)
        except Stopped:
            self.complete = False

    def _look_at(self, folder: WalkedFolder) -> None:
        for name in folder.files:
            if name[name.rfind(".") :] in _TEXT:
                if self._text_opened >= MAX_TEXT_OPENED:
                    continue
                self._text_opened += 1
            elif self._opened >= MAX_OPENED:
                self.complete = False
                continue
            path = folder.path + name
            if (self._wanted is None or self._wanted(name, path)) and folder.keep([name]):
                self._opened += 1
                if self._sniff(name, folder.fd):
                    self.binary.append(path)

    def _sniff(self, name: str, dir_fd: int) -> bool:
        try:
            fd = open_file(name, dir_fd=dir_fd)
        except OSError:  # ripgrep reports it
            return False
        try:
            return is_binary(fd)
        except OSError:
            return False
        finally:
            os.close(fd)
