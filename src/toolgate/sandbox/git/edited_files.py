"""Files that git runs, or takes its settings from, among those that a tool is going to write."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator

from toolgate.sandbox.git.repository import Repository
from toolgate.sandbox.root_directory import RootDirectory

_CONTENT = frozenset({"objects", "commondir"})
"""With a file `HEAD` and one of these, git takes a directory for a repository, whatever its name is."""


def git_may_run(root: str, home: str, paths: Collection[str]) -> bool:
    """Whether one of these files (relative to the root) belongs to a repository, or is one that its settings name.

    They are judged together, as if all of them existed: the last file of a repository makes git run the others. What is
    not relative to the root is not known, and counts.
    """
    if any(map(posixpath.isabs, paths)):
        return True
    directory = RootDirectory(root)
    try:
        named = Repository(directory, home).named()
        if any(path == name or path.startswith(f"{name}/") for path in paths for name in named):
            return True
        return any(_is_repository(directory, at, paths) for at in {at for path in paths for at in _above(path)})
    finally:
        directory.close()


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a file; empty is the root."""
    while path:
        path = posixpath.dirname(path)
        yield path


def _is_repository(root: RootDirectory, directory: str, paths: Collection[str]) -> bool:
    def has(name: str) -> bool:
        path = posixpath.join(directory, name)
        return root.kind(path) != "absent" or any(one == path or one.startswith(f"{path}/") for one in paths)

    return has("HEAD") and any(map(has, _CONTENT))
