"""Finds what a search skips: binary and ignored files, which ripgrep does not report, and guarded files.

The walk runs beside ripgrep. To stay cheap, it opens only files whose names do not show that they are text, and a few
others.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator

from toolgate.search.ignore import Ignores
from toolgate.search.search_root import SearchRoot
from toolgate.search.walk import TreeWalk, WalkedFolder, is_never_shown, read_small
from toolgate.workspace.beneath import open_file
from toolgate.workspace.file_guard import FileGuard
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


def guarded(guard: FileGuard, start: SearchRoot, wanted: Callable[[str, str], bool] | None) -> tuple[list[str], int]:
    """The secret files that a search leaves out, relative to its start, and the number of paths that a rule denies.

    They are the same whatever is searched for. Otherwise, one search after the other could find out what they hold.
    """
    assert start.directory is not None
    found = guard.found()
    ignored = _ignored_below(start.directory, start.rules)
    secrets = [
        path
        for path in _below(start.prefixes, found.secrets)
        if (wanted is None or wanted(path.rpartition("/")[2], path)) and not is_never_shown(path) and not ignored(path)
    ]
    return secrets, sum(not is_never_shown(path) and not ignored(path) for path in _below(start.prefixes, found.denied))


def _below(prefixes: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """The paths below a directory whose paths have these prefixes, relative to it."""
    for path in paths:
        prefix = next((prefix for prefix in prefixes if path.startswith(prefix)), None)
        if prefix is not None and not path.startswith("/", len(prefix)):
            yield path[len(prefix) :]


def _ignored_below(fd: int, inherited: list[str] | None) -> Callable[[str], bool]:
    """Whether a path below an open directory is ignored, given the rules from above."""
    known: dict[str, Ignores | None] = {}

    def inside(folder: str) -> Ignores | None:
        """The rules inside a folder; None if it is ignored itself."""
        if folder not in known:
            outer = Ignores.inheriting(inherited)
            if folder:
                above, _, name = folder[:-1].rpartition("/")
                above = above and f"{above}/"
                outer = inside(above)
                outer = None if outer is None or outer.ignored(name, above, True) else outer
            text = None if outer is None else read_small(fd, *folder.split("/")[:-1], ".gitignore")
            known[folder] = outer if outer is None or text is None else outer.enter(folder, text)
        return known[folder]

    def ignored(path: str) -> bool:
        folder = path[: path.rfind("/") + 1]
        rules = inside(folder)
        return rules is None or rules.ignored(path[len(folder) :], folder, False)

    return ignored if inherited is not None else lambda _: False
