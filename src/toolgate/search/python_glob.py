"""Finds files by glob in Python: one walk by descriptors, results sorted by path."""

import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.search import globs
from toolgate.search.ignore import Ignores
from toolgate.search.listing import shown_name
from toolgate.search.search_root import SearchRoot
from toolgate.search.walk import TreeWalk, WalkedFolder
from toolgate.workspace.paths import outside
from toolgate.workspace.root import Workspace

_SLACK = 4096


@dataclass(slots=True)
class GlobResult:
    """What was found."""

    paths: list[str] = field(default_factory=list)
    total: int = 0
    complete: bool = True
    """False if the deadline was reached before the end of the tree."""
    unreadable: list[str] = field(default_factory=list)
    """Directories that could not be read."""
    too_deep: bool = False
    """Whether the tree is deeper than the deepest level that is walked."""


def alternatives(workspace: Workspace, path: str, pattern: str) -> list[list[str]]:
    """Expand `pattern`, typed relative to `path`, into segments relative to the root.

    Raises `GlobError`, and `ToolError` for patterns that lead out of the root.
    """
    return [_from_root(workspace, path, alternative, pattern) for alternative in globs.expand(pattern)]


def _from_root(workspace: Workspace, path: str, alternative: str, typed: str) -> list[str]:
    segments = globs.split(alternative)
    if not segments:
        return []
    fixed = 0
    while fixed < len(segments) - 1 and globs.is_literal(segments[fixed]):
        fixed += 1
    if ".." in segments[fixed:]:
        raise outside(typed)
    literal = "/".join(segments[:fixed])
    try:
        base = workspace.relative(f"/{literal}") if alternative[0] == "/" else workspace.relative(literal or ".", path)
    except ToolError as error:
        raise (outside(typed) if error.code is ErrorCode.ACCESS_DENIED else error) from None
    return [*([] if base == "." else base.split("/")), *segments[fixed:]]


class Pattern:
    """Glob patterns relative to one directory, prepared for a quick walk."""

    def __init__(self, choices: Sequence[list[str]]) -> None:
        self.only = _common(choices)
        """Names of the parent directories that all matches have in common."""
        rest = [choice[len(self.only) :] for choice in choices]
        self.recursive = any("**" in choice for choice in rest)
        self.depth = None if self.recursive else max(map(len, choices), default=1) - 1
        """Depth below the directory at which a match may be; None for any depth."""
        self._choices = [_folders(choice) for choice in choices]
        self.tails = [choice[-1] for choice in rest if choice]
        """Alternative patterns of the names of all matches. `**` is any name."""
        self._paths = globs.compile_paths(list(choices)).fullmatch
        self._suffixes = tuple(tail[1:] for tail in self.tails if re.fullmatch(r"\*\.[^*?\[\\]+", tail))
        self._by_suffix = len(self._suffixes) == len(self.tails)
        self._prefix = "".join(f"{name}/" for name in self.only)
        self._tail_decides = all(len(choice) == 2 and choice[0] == "**" for choice in rest) and self._by_suffix

    def matching(self, paths: list[str]) -> list[str]:
        """Return those paths, relative to the same directory, that match."""
        if self._by_suffix:
            paths = [path for path in paths if path.endswith(self._suffixes)]
        if paths and self._tail_decides and paths[0].startswith(self._prefix):
            return paths
        return [path for path in paths if self._paths(path)]

    def reaches(self, directory: str) -> bool:
        """Whether there may be a match below this directory, given relative to the same one."""
        names = directory.rstrip("/").split("/")
        return any(_leads_to(choice, names) for choice in self._choices)

    def covers(self, text: str, count: int) -> bool:
        """Whether all of `count` paths, each enclosed in NULs in `text`, certainly match."""
        if not self._tail_decides or len(self._suffixes) != 1:
            return False
        return text.startswith(self._prefix, 1) and text.count(f"{self._suffixes[0]}\0") == count


def _folders(choice: Sequence[str]) -> "list[Callable[[str], object] | None]":
    """Patterns for the names of the directories on the way to a match."""
    return [_segment(segment) for segment in (choice if choice[-1:] == ["**"] else choice[:-1])]


def _segment(segment: str) -> Callable[[str], object] | None:
    """Return a function that matches one segment; None for `**`, which matches any number of names."""
    return None if segment == "**" else globs.compile_paths([[segment]]).fullmatch


def _leads_to(segments: Sequence[Callable[[str], object] | None], names: Sequence[str]) -> bool:
    for matches, name in zip(segments, names, strict=False):
        if matches is None:
            return True
        if not matches(name):
            return False
    return len(names) <= len(segments)


def _common(choices: Sequence[list[str]]) -> tuple[str, ...]:
    """Return the literal directories that all choices start with."""
    common: list[str] = []
    for level in zip(*(choice[:-1] for choice in choices), strict=False):
        if len(set(level)) > 1 or level[0] == "**" or not globs.is_literal(level[0]):
            break
        common.append(level[0])
    return tuple(common)


class FirstPaths:
    """Keeps the first paths by name, and counts all."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._kept: list[str] = []

    def add(self, paths: list[str]) -> None:
        """Add paths in any order."""
        self.total += len(paths)
        self._kept += paths
        if len(self._kept) > 4 * self._limit + _SLACK:
            self._kept = nsmallest(self._limit, self._kept)

    def paths(self, prefix: str) -> list[str]:
        """Return the first ones as they are shown."""
        return sorted(shown_name(prefix + path) for path in sorted(self._kept)[: self._limit])


def find_files(
    workspace: Workspace,
    start: SearchRoot,
    pattern: Pattern,
    *,
    limit: int,
    deadline: float,
    check: Callable[[], None],
) -> GlobResult:
    """Return every regular file below the start that matches, and matching links to files, except through `**`."""
    files, first = GlobResult(), FirstPaths(limit)
    walk = _walk(start, pattern, check)
    for folder in walk:
        first.add(_matching_files(folder, pattern))
        first.add(matching_links(workspace, start, folder, pattern))
        if time.monotonic() > deadline:
            files.complete = False
            break
    files.paths, files.total = first.paths(start.prefix), first.total
    files.unreadable = [start.prefix + path for path, _ in walk.unreadable if not path or pattern.reaches(path)]
    files.too_deep = bool(walk.too_deep)
    return files


def descend(start: SearchRoot, pattern: Pattern, check: Callable[[], None]) -> Iterator[WalkedFolder]:
    """Return the directory that the fixed part of the pattern leads to, if it exists and is not ignored."""
    for folder in _walk(start, pattern, check):
        if folder.path.count("/") == len(pattern.only):
            yield folder
            return


def _walk(start: SearchRoot, pattern: Pattern, check: Callable[[], None]) -> TreeWalk:
    assert start.directory is not None
    return TreeWalk(
        start.directory,
        ignores=Ignores.inheriting(start.rules),
        check=check,
        hidden=start.hidden,
        only=pattern.only,
        depth=pattern.depth,
    )


def _matching_files(folder: WalkedFolder, pattern: Pattern) -> list[str]:
    path = folder.path
    found = pattern.matching([path + name for name in folder.files])
    if not found:
        return found
    skip = len(path)
    return [path + name for name in folder.keep([one[skip:] for one in found])]


def matching_links(workspace: Workspace, start: SearchRoot, folder: WalkedFolder, pattern: Pattern) -> list[str]:
    """Return the links of a folder that match and lead to a file inside the root.

    ripgrep does not list links. Therefore links that only `**` reaches are not looked for, with and without ripgrep.
    """
    if not folder.links or (pattern.recursive and folder.path.count("/") > len(pattern.only)):
        return []
    found = []
    for path in pattern.matching([folder.path + name for name in folder.keep(folder.links)]):
        try:
            info = workspace.stat(start.prefix + path)
        except ToolError:  # leads out of the root, or in a circle
            continue
        if info is not None and stat.S_ISREG(info.st_mode):
            found.append(path)
    return found
