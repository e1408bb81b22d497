"""Patterns on text and on paths. `*` and `?` are the only wildcards, and matching takes linear time.

A regular expression made from a pattern can be driven into exponential time by the author of the pattern, and a
project's policy is written by strangers.
"""

import functools
import posixpath
import re
from collections.abc import Sequence

_PATH_NAMES = frozenset({"path", "file", "dir", "directory", "cwd", "working_dir"})
_PATH_ENDINGS = ("_path", "_file", "_dir")


def is_path_name(argument: str) -> bool:
    """Whether an argument of this name holds a path."""
    return argument in _PATH_NAMES or argument.endswith(_PATH_ENDINGS)


def normal_path(path: str) -> str:
    """A path in normal form. The file system is not read."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


class TextGlob:
    """A pattern for a whole value: `*` is any text, `?` any one character."""

    def __init__(self, pattern: str) -> None:
        chunks = re.split(r"\*+", pattern)
        self._lengths = [len(chunk) for chunk in chunks]
        self._chunks = [re.compile(re.escape(chunk).replace(r"\?", "."), re.DOTALL) for chunk in chunks]

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        first, *rest = self._chunks
        if not rest:
            return first.fullmatch(text) is not None
        end = len(text) - self._lengths[-1]
        start = self._lengths[0]
        if end < start or first.match(text) is None or rest[-1].match(text, end) is None:
            return False
        for chunk in rest[:-1]:
            found = chunk.search(text, start, end)
            if found is None:
                return False
            start = found.end()
        return True


class PathGlob:
    """A pattern for a path from the root: `**` is any number of directories, `*` and `?` stay within a name.

    `docs/**` is `docs` and everything below it.
    """

    def __init__(self, pattern: str, rule: str = "") -> None:
        self.rule = rule
        """The rule that it belongs to, as a person finds it."""
        parts = _parts(pattern)
        self._parts: list[TextGlob | None] = [None if part == "**" else TextGlob(part) for part in parts]

    def matches(self, path: str) -> bool:
        """Whether the path (in normal form) fits."""
        return _fits(self._parts, _parts_of(path))


@functools.lru_cache(maxsize=1024)
def _parts_of(path: str) -> Sequence[str]:
    """The names of a path; all patterns of a policy are compared with the same few paths."""
    return _parts(normal_path(path))


def _parts(path: str) -> list[str]:
    names = path.split("/")
    if path.startswith("/"):
        return names
    return [name for name in names if name not in ("", ".")]


def _fits(pattern: Sequence[TextGlob | None], parts: Sequence[str]) -> bool:
    """Names against patterns, where None stands for any number of names; never more than len × len steps."""
    at = index = 0
    star, resume = -1, 0
    while index < len(parts):
        glob = pattern[at] if at < len(pattern) else None
        if at < len(pattern) and glob is None:
            star, resume = at, index
            at += 1
        elif glob is not None and glob.matches(parts[index]):
            at += 1
            index += 1
        elif star >= 0:
            resume += 1
            at, index = star + 1, resume
        else:
            return False
    return all(glob is None for glob in pattern[at:])
