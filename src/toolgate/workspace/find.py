"""Finding files by glob: one walk by descriptors, results sorted by path."""

import re
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import globs
from toolgate.workspace.ignore import Ignores
from toolgate.workspace.listing import shown_name
from toolgate.workspace.paths import outside
from toolgate.workspace.root import Workspace
from toolgate.workspace.start import Start
from toolgate.workspace.walk import DEEPEST, Folder, Walk

_SLACK = 4096


@dataclass(slots=True)
class Files:
    """What was found."""

    paths: list[str] = field(default_factory=list)
    total: int = 0
    complete: bool = True
    """False: the deadline came before the end of the tree."""
    ignored: list[str] = field(default_factory=list)
    """Directories that were not entered because a rule ignores them."""
    unreadable: list[tuple[str, int]] = field(default_factory=list)
    too_deep: bool = False


def alternatives(workspace: Workspace, path: str, pattern: str) -> list[list[str]]:
    """The patterns that `pattern`, typed relative to `path`, stands for, as segments relative to the root.

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
    """Glob patterns relative to one directory, taken apart for a quick walk."""

    def __init__(self, choices: Sequence[list[str]]) -> None:
        self.only = _common(choices)
        """Names of the directories that every match lies in."""
        rest = [choice[len(self.only) :] for choice in choices]
        self.depth = DEEPEST if any("**" in choice for choice in rest) else max(map(len, choices), default=1) - 1
        self._paths = globs.compile_paths(list(choices)).fullmatch
        tails = [choice[-1] for choice in rest if choice]
        self._suffixes = tuple(tail[1:] for tail in tails if re.fullmatch(r"\*\.[^*?\[\\]+", tail))
        self._by_suffix = len(self._suffixes) == len(tails)
        names = [globs.segment_regex(tail) for tail in tails if tail != "**"]
        self._names = re.compile("|".join(names), re.DOTALL).fullmatch if len(names) == len(tails) else None
        self._name_decides = all(len(choice) == 2 and choice[0] == "**" and choice[1] != "**" for choice in rest)

    def matching(self, folder: Folder, names: list[str]) -> list[str]:
        """The names in a folder that match."""
        if self._by_suffix:
            names = [name for name in names if name.endswith(self._suffixes)]
        elif self._names is not None:
            names = [name for name in names if self._names(name)]
        if not names or (self._name_decides and folder.path.count("/") >= len(self.only)):
            return names
        return [name for name in names if self._paths(folder.path + name)]


def _common(choices: Sequence[list[str]]) -> tuple[str, ...]:
    """The literal directories at the start of every choice."""
    common: list[str] = []
    for level in zip(*(choice[:-1] for choice in choices), strict=False):
        if len(set(level)) > 1 or level[0] == "**" or not globs.is_literal(level[0]):
            break
        common.append(level[0])
    return tuple(common)


def find_files(
    workspace: Workspace,
    start: Start,
    pattern: Pattern,
    *,
    limit: int,
    deadline: float,
    check: Callable[[], None],
) -> Files:
    """Every regular file below the start that matches, and every link to one inside the root."""
    assert start.directory is not None
    files = Files()
    kept: list[str] = []
    walk = Walk(
        start.directory,
        ignores=Ignores.inheriting(start.rules),
        check=check,
        hidden=start.hidden,
        only=pattern.only,
        depth=pattern.depth,
    )
    for folder in walk:
        names = folder.keep(pattern.matching(folder, folder.files))
        if folder.links:
            names += _leading_to_files(
                workspace, start.prefix, folder, folder.keep(pattern.matching(folder, folder.links))
            )
        kept.extend([folder.path + name for name in names])
        files.total += len(names)
        files.ignored.extend(f"{start.prefix}{folder.path}{name}/" for name in folder.ignored)
        if len(kept) > 4 * limit + _SLACK:
            kept = nsmallest(limit, kept)
        if time.monotonic() > deadline:
            files.complete = False
            break
    files.paths = sorted(shown_name(start.prefix + path) for path in sorted(kept)[:limit])
    files.unreadable, files.too_deep = walk.unreadable, walk.too_deep
    return files


def _leading_to_files(workspace: Workspace, prefix: str, folder: Folder, links: list[str]) -> list[str]:
    found = []
    for name in links:
        try:
            info = workspace.stat(f"{prefix}{folder.path}{name}")
        except ToolError:  # leads out of the root, or in a circle
            continue
        if info is not None and stat.S_ISREG(info.st_mode):
            found.append(name)
    return found
