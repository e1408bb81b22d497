"""Programs that the settings of a repository make git run, also when it only reads."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import NamedTuple

from toolgate.command.analysis.plan import Kind
from toolgate.sandbox.git.configuration import (
    ConfigEntry,
    UnreadableConfigurationError,
    fetches_on_demand,
    parse,
    runs_code_during_fetches,
    runs_code_during_reads,
)
from toolgate.sandbox.git.index import UnreadableIndexError, gitlinks

_MAX_FILES = 64
_UNREADABLE = "the-settings-of-git-cannot-be-read"
"""Stands for the program that unreadable settings may name."""


class Files(NamedTuple):
    """How files below the root are looked at. Paths are relative to it, in normal form."""

    root: str
    kind: Callable[[str], Kind]
    read: Callable[[str], bytes | None]

    def inside(self, directory: str, path: str) -> str:
        """Return a path that git's files name in a directory, relative to the root; empty outside it."""
        normal = posixpath.normpath(posixpath.join(self.root, directory, path))
        return normal[len(self.root) + 1 :] if normal.startswith(f"{self.root}/") else ""


def git_programs(files: Files, directory: str, verb: str) -> tuple[str, ...]:
    """Return the commands that `git verb` may run in a directory because of settings below the root.

    Every repository that git may find there counts, with its submodules. Settings outside the root are the user's own.
    """
    found: dict[str, None] = {}
    for top in _above(directory):
        for repository in _repositories(files, top):
            found.update(dict.fromkeys(_programs(files, repository, verb)))
            found.update(dict.fromkeys(_programs_of_submodules(files, top, repository, verb)))
    return tuple(found)


def _programs_of_submodules(files: Files, top: str, repository: str, verb: str) -> Iterator[str]:
    try:
        links = _submodules(files, repository)
    except UnreadableIndexError:
        yield _UNREADABLE
        return
    for link in links:
        for nested in _repositories(files, posixpath.normpath(posixpath.join(top, link))):
            yield from _programs(files, nested, verb)


def _above(directory: str) -> Iterator[str]:
    """Yield a directory and those above it, up to the root."""
    yield directory
    while directory not in (".", ""):
        directory = posixpath.dirname(directory) or "."
        yield directory


def _repositories(files: Files, top: str) -> Iterator[str]:
    """Yield the git directories that belong to a directory: `.git`, what a file of this name leads to, and itself."""
    own = posixpath.normpath(posixpath.join(top, ".git"))
    kind = files.kind(own)
    if kind == "directory":
        yield own
    elif kind == "file":
        text = files.read(own) or b""
        if text.startswith(b"gitdir:") and (elsewhere := files.inside(top, text[7:].strip().decode(errors="replace"))):
            yield elsewhere
    if files.kind(posixpath.normpath(posixpath.join(top, "HEAD"))) == "file":
        yield top


def _programs(files: Files, repository: str, verb: str) -> Iterator[str]:
    entries = list(_entries(files, repository))
    fetches = any(map(fetches_on_demand, entries))
    for entry in entries:
        if entry.name == _UNREADABLE:
            yield _UNREADABLE
        elif runs_code_during_reads(entry, verb) or (fetches and runs_code_during_fetches(entry)):
            named = entry.subsection if "::" in entry.subsection else entry.value
            yield named.rpartition("::")[2].removeprefix("!")


def _entries(files: Files, repository: str) -> Iterator[ConfigEntry]:
    """Yield the settings of a repository with the files that they include."""
    common = (files.read(f"{repository}/commondir") or b"").strip().decode(errors="replace")
    shared = files.inside(repository, common) if common else ""
    waiting = [f"{place}/{name}" for place in (repository, shared) if place for name in ("config", "config.worktree")]
    done: set[str] = set()
    while waiting:
        path = posixpath.normpath(waiting.pop(0))
        if path in done or files.kind(path) == "absent":
            continue
        done.add(path)
        text = files.read(path)
        try:
            entries = parse(text) if text is not None and len(done) <= _MAX_FILES else [_unreadable()]
        except UnreadableConfigurationError:
            entries = [_unreadable()]
        yield from entries
        named = [entry.value for entry in entries if entry.key.lower().startswith("include") and entry.name == "path"]
        waiting += [inside for name in named if (inside := files.inside(posixpath.dirname(path), name))]


def _unreadable() -> ConfigEntry:
    return ConfigEntry("", "", _UNREADABLE, "")


def _submodules(files: Files, repository: str) -> frozenset[str]:
    """Return the directories that git looks into as repositories of their own."""

    def read(name: str) -> bytes | None:
        data = files.read(f"{repository}/{name}")
        if data is None and files.kind(f"{repository}/{name}") != "absent":
            raise UnreadableIndexError(f"{name} cannot be opened")
        return data

    return gitlinks(read)
