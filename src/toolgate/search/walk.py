"""Walks a directory tree by descriptors. Links are reported and never followed, whatever changes meanwhile."""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from toolgate.search.ignore import MAX_BYTES, Ignores, below, parse
from toolgate.workspace.beneath import open_directory, open_file, scan_directory

TEMP_PREFIX = ".toolgate-tmp-"
"""Prefix of the names of unfinished files, which no tool shows."""
STATE = ".toolgate"
"""The directory of the runtime's own files."""
VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
"""Directories of version control systems."""
NEVER_SHOWN = frozenset({*VERSION_CONTROL, STATE})
"""Names of directories that a walk never enters, and of files that it never shows."""
MAX_DEPTH = 250
"""Deepest level below its start that a walk enters. One descriptor is open per level."""
CHUNK = 8192
"""Most entries of one directory that are in memory at a time."""


class WalkedFolder:
    """One directory, or the next part of a very large one. It is open while it is used."""

    __slots__ = ("dirs", "fd", "files", "ignored", "ignores", "links", "path")

    def __init__(self, path: str, fd: int, ignores: Ignores | None) -> None:
        self.path = path
        """Relative to the start of the walk: empty, or ending with `/`."""
        self.fd = fd
        self.ignores = ignores
        """None: nothing is ignored."""
        self.files: list[str] = []
        """Regular files, including ignored ones: use `keep` for those that matter."""
        self.links: list[str] = []
        self.dirs: list[str] = []
        """Directories that the walk will enter."""
        self.ignored: list[str] = []
        """Directories that it will not enter because a rule ignores them."""

    def keep(self, names: list[str]) -> list[str]:
        """Return those files or links of this folder that are to be shown."""
        if self.ignores is not None:
            names = self.ignores.keep(names, self.path)
        return [name for name in names if name[0] != "." or not (name in NEVER_SHOWN or name.startswith(TEMP_PREFIX))]


class TreeWalk:
    """A walk from one open directory downwards.

    `unreadable` collects the folders that could not be entered, with the error number.
    """

    def __init__(
        self,
        fd: int,
        *,
        ignores: Ignores | None,
        check: Callable[[], None] | None = None,
        hidden: Collection[str] = (),
        only: tuple[str, ...] = (),
        depth: int | None = None,
    ) -> None:
        """With `depth`, the walk ends that many levels below its start. Deeper levels are not reported."""
        self._fd = fd
        self._ignores = ignores
        self._check = check
        self._hidden = frozenset(hidden)
        self._only = only
        self._depth = depth
        self.unreadable: list[tuple[str, int]] = []
        self.too_deep = ""
        """A directory below the deepest level that the walk enters; empty if there is none."""

    def __iter__(self) -> Iterator[WalkedFolder]:
        """Yield every folder, parents before their children. Each is open only until the next one is requested."""
        stack: list[tuple[int, str, Ignores | None, list[str]]] = []
        fd = os.dup(self._fd)
        path, ignores = "", self._ignores
        try:
            while True:
                try:
                    dirs: list[str] = []
                    for folder in self._list(fd, path, ignores, len(stack)):
                        dirs.extend(folder.dirs)
                        ignores = folder.ignores
                        yield folder
                except OSError as error:
                    self.unreadable.append((path, error.errno or 0))
                    dirs = []
                stack.append((fd, path, ignores, dirs))
                fd = -1
                while stack and fd < 0:
                    fd, path, ignores = self._next(stack)
                if fd < 0:
                    return
        finally:
            for open_fd, *_ in stack:
                os.close(open_fd)
            if fd >= 0:
                os.close(fd)

    def _next(self, stack: list[tuple[int, str, Ignores | None, list[str]]]) -> tuple[int, str, Ignores | None]:
        """Open the next directory below the top of the stack, or drop that top."""
        parent, prefix, ignores, dirs = stack[-1]
        while dirs:
            name = dirs.pop()
            try:
                return open_directory(name, dir_fd=parent), f"{prefix}{name}/", ignores
            except OSError as error:
                if len(stack) > len(self._only) or not _is_missing(name, parent):
                    self.unreadable.append((f"{prefix}{name}/", error.errno or 0))
        stack.pop()
        os.close(parent)
        return -1, "", None

    def _list(self, fd: int, path: str, ignores: Ignores | None, level: int) -> Iterator[WalkedFolder]:
        if level < len(self._only):
            folder = WalkedFolder(path, fd, self._rules(fd, path, ignores, True))
            self._choose_directories(folder, [self._only[level]], level)
            yield folder
            return
        first = True
        with scan_directory(fd) as entries:
            while True:
                if self._check is not None:
                    self._check()
                folder = WalkedFolder(path, fd, ignores)
                dirs, more = _take(entries, folder)
                if first:
                    ignores = folder.ignores = self._rules(fd, path, ignores, more or ".gitignore" in folder.files)
                    first = False
                self._choose_directories(folder, dirs, level)
                yield folder
                if not more:
                    return

    def _rules(self, fd: int, path: str, ignores: Ignores | None, has_file: bool) -> Ignores | None:
        """The rules inside a folder."""
        text = read_small(fd, ".gitignore") if ignores is not None and has_file else None
        return ignores if ignores is None or text is None else ignores.enter(path, text)

    def _choose_directories(self, folder: WalkedFolder, dirs: list[str], level: int) -> None:
        """Decide which directories are entered."""
        for name in dirs:
            if name in NEVER_SHOWN or (self._hidden and folder.path + name in self._hidden):
                continue
            if folder.ignores is not None and folder.ignores.ignored(name, folder.path, True):
                folder.ignored.append(name)
            elif self._depth is not None and level >= self._depth:
                continue
            elif level < MAX_DEPTH:
                folder.dirs.append(name)
            else:
                self.too_deep = f"{folder.path}{name}/"


def _take(entries: Iterator[os.DirEntry[str]], folder: WalkedFolder) -> tuple[list[str], bool]:
    """Sort the next entries into files, links and directories; return the directories and whether there may be more."""
    dirs: list[str] = []
    others = 0
    add_file = folder.files.append
    for entry in islice(entries, CHUNK):
        if entry.is_file(follow_symlinks=False):
            add_file(entry.name)
        elif entry.is_dir(follow_symlinks=False):
            dirs.append(entry.name)
        elif entry.is_symlink():
            folder.links.append(entry.name)
        else:
            others += 1
    return dirs, len(folder.files) + len(dirs) + len(folder.links) + others == CHUNK


def _is_missing(name: str, parent: int) -> bool:
    """Whether no directory, and no link that may lead to one, has this name."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError as error:
        return error.errno == errno.ENOENT
    return not stat.S_ISDIR(mode) and not stat.S_ISLNK(mode)


def is_never_shown(path: str) -> bool:
    """Whether no search shows a path. These are version control, the runtime's files and unfinished files."""
    if "." not in path:
        return False
    parts = path.split("/")
    return not NEVER_SHOWN.isdisjoint(parts) or parts[-1].startswith(TEMP_PREFIX)


def read_small(fd: int, *names: str) -> str | None:
    """Return the text of a small file below an open directory; None if it does not exist or a component is a link."""
    folder = fd
    try:
        for name in names[:-1]:
            deeper = open_directory(name, dir_fd=folder)
            if folder != fd:
                os.close(folder)
            folder = deeper
        opened = open_file(names[-1], dir_fd=folder)
    except OSError:
        return None
    finally:
        if folder != fd:
            os.close(folder)
    try:
        return os.read(opened, MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    finally:
        os.close(opened)


def inherited(folders: Sequence[int], names: Sequence[str]) -> list[str]:
    """Return the ignore rules from above the start of a search, as lines relative to the start.

    `folders` are the open directories from the root down to the start's parent (only the root if that is the start).
    `names` are the steps from the root to the start. The root's `.git/info/exclude` comes first and deeper files last,
    because the last rule wins.
    """
    lines: list[str] = []
    exclude = read_small(folders[0], ".git", "info", "exclude")
    for level, text in enumerate([exclude, *(read_small(fd, ".gitignore") for fd in folders[: len(names)])]):
        if text is not None:
            lines.extend(rule.line() for rule in below(parse(text), names[max(0, level - 1) :]))
    return lines
