"""The root's own repository: the paths below the root that it makes the user's git run or read."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from toolgate.sandbox.git.configuration import (
    MAX_BYTES,
    ConfigEntry,
    UnreadableConfigurationError,
    names_program,
    parse,
    runs_code_during_writes,
)
from toolgate.sandbox.git.index import UnreadableIndexError, git_directory, gitlinks, index_reader
from toolgate.sandbox.root_directory import RootDirectory

GIT = ".git"
_MAX_FILES = 64
_MAX_PINS = 128
_HOOKS = {
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite"),
    "merge": ("pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"),
    "cherry-pick": ("prepare-commit-msg", "commit-msg", "post-commit"),
    "revert": ("prepare-commit-msg", "commit-msg", "post-commit"),
    "rebase": ("pre-rebase", "post-rewrite", "post-checkout"),
    "checkout": ("post-checkout",),
    "switch": ("post-checkout",),
}


@dataclass(frozen=True, slots=True)
class Pin:
    """A path below the root that commands must not change."""

    relative: str
    file: bool
    """Whether it is a file, and not a directory."""
    made: bool = True
    """Whether an empty one is created there while it does not exist."""


class Repository:
    """Reads the root's repository as git would, and again whenever one of its files has changed."""

    def __init__(self, root: RootDirectory, home: str) -> None:
        self._root = root
        self._outside = ("/etc/gitconfig", f"{home}/.gitconfig", f"{home}/.config/git/config")
        self._seen: tuple[object, ...] | None = None
        self._files: tuple[str, ...] = ()
        self._entries: list[ConfigEntry] = []
        self._pins: tuple[Pin, ...] = ()
        self._directory = self._common = self._path(GIT)
        self._unprotected: tuple[str, ...] = ()

    def signature(self) -> tuple[object, ...]:
        """A value that changes whenever `pins` may have changed."""
        paths = dict.fromkeys(
            (*self._first_files(), *self._files, f"{self._directory}/commondir", f"{self._directory}/index")
        )
        return tuple(_signature(path) for path in paths)

    def pins(self) -> tuple[Pin, ...]:
        """Return the paths that commands must not change, besides `.git` itself."""
        self._refresh()
        return self._pins

    def unprotected(self) -> tuple[str, ...]:
        """Return what `pins` cannot contain, in plain words."""
        self._refresh()
        return self._unprotected

    def named(self) -> tuple[str, ...]:
        """Return the paths below the root that git's settings name. Repositories in the index are not among them."""
        self._locate()
        self._entries = list(self._read())
        return tuple(pin.relative for pin in self._find_named())

    def entries(self) -> list[ConfigEntry]:
        """Return the settings of the repository and the user, with all included files."""
        self._refresh()
        return self._entries

    def runs_code(self) -> str:
        """Return a key that makes git run a program of the project while it writes; empty if there is none."""
        return next((entry.key for entry in self.entries() if runs_code_during_writes(entry)), "")

    def hooks(self, verbs: frozenset[str]) -> tuple[str, ...]:
        """Return the hooks that these git commands would run."""
        wanted = {name for verb in verbs for name in _HOOKS.get(verb, ())}
        own = [entry.value for entry in self.entries() if entry.key.lower() == "core.hookspath"]
        directory = os.path.join(self._root.path, os.path.expanduser(own[-1]) if own else f"{GIT}/hooks")
        return tuple(sorted(name for name in wanted if os.access(os.path.join(directory, name), os.X_OK)))

    def gitlinks(self) -> frozenset[str]:
        """Return the directories that the index lists as repositories. May raise `UnreadableIndexError`."""
        return gitlinks(index_reader(self._root, self._directory))

    def _refresh(self) -> None:
        if self._seen is not None and self._seen == self.signature():
            return
        self._files = ()
        self._locate()
        self._entries = list(self._read())
        found, unprotected = list(self._find_named()), list[str]()
        try:
            found += [pin for link in sorted(self.gitlinks()) for pin in self._below_gitlink(link)]
        except UnreadableIndexError as error:
            unprotected.append(f"submodules are not protected, because git's index cannot be read: {error}")
        pins = tuple(dict.fromkeys(found))
        if len(pins) > _MAX_PINS:
            unprotected.append(f"only {_MAX_PINS} of {len(pins)} files and submodules that git reads are protected")
        self._pins, self._unprotected = pins[:_MAX_PINS], tuple(unprotected)
        self._seen = self.signature()

    def _locate(self) -> None:
        """Find the git directory, elsewhere for a linked work tree, and the one that it shares its settings with."""
        self._directory = git_directory(self._root)
        try:
            common = self._text(f"{self._directory}/commondir")
        except OSError:
            common = b""
        self._common = _joined(self._directory, os.fsdecode(common.strip()))

    def _first_files(self) -> Iterator[str]:
        yield from self._outside
        for directory in dict.fromkeys((self._common, self._directory)):
            yield f"{directory}/config"
            yield f"{directory}/config.worktree"
        yield self._path(GIT)

    def _read(self) -> Iterator[ConfigEntry]:
        waiting = list(self._first_files())[:-1]
        done: list[str] = []
        while waiting and len(done) < _MAX_FILES:
            path = waiting.pop(0)
            if path in done:
                continue
            done.append(path)
            for entry in self._entries_of(path):
                yield entry
                if entry.section in ("include", "includeif") and entry.name == "path":
                    waiting.append(_joined(os.path.dirname(path), entry.value))
        self._files = tuple(done)

    def _entries_of(self, path: str) -> list[ConfigEntry]:
        try:
            return parse(self._text(path))
        except (OSError, UnreadableConfigurationError):  # git stops at such a file as well
            return []

    def _find_named(self) -> Iterator[Pin]:
        yield from self._separate()
        for path in self._files:
            inside = self._inside(path)
            if inside and not path.startswith((f"{self._directory}/", f"{self._common}/")):
                yield Pin(inside, file=True)
        for entry in self._entries:
            if names_program(entry):
                yield from self._named(entry)

    def _named(self, entry: ConfigEntry) -> Iterator[Pin]:
        if entry.key.lower() in ("core.hookspath", "init.templatedir"):
            if inside := self._inside(_joined(self._root.path, entry.value)):
                yield Pin(inside, file=False)
            return
        try:
            words = shlex.split(entry.value.removeprefix("!"))
        except ValueError:
            words = entry.value.split()
        for word in words:
            inside = self._inside(_joined(self._root.path, word.strip("'\";&|()")))
            if inside and self._root.kind(inside) == "file":
                yield Pin(inside, file=True)

    def _separate(self) -> Iterator[Pin]:
        """Return the git directories elsewhere in the root that a `.git` file leads to."""
        for directory in dict.fromkeys((self._common, self._directory)):
            inside = self._inside(directory)
            if inside and inside != GIT and self._root.kind(inside) == "directory":
                yield Pin(inside, file=False)

    def _below_gitlink(self, link: str) -> Iterator[Pin]:
        kind = self._root.kind(f"{link}/{GIT}")
        if kind in ("file", "directory"):
            yield Pin(f"{link}/{GIT}", file=kind == "file", made=False)
        elif kind == "absent" and self._root.kind(link) == "directory":
            yield Pin(f"{link}/{GIT}", file=False)

    def _text(self, path: str) -> bytes:
        inside = self._inside(path)
        return (self._root.read(inside, MAX_BYTES) or b"") if inside else _outside_text(path)

    def _inside(self, path: str) -> str:
        """Return the path relative to the root; empty outside it, for the root itself and for what `.git` protects."""
        normal = os.path.normpath(path)
        if not normal.startswith(self._root.path + "/"):
            return ""
        return normal[len(self._root.path) + 1 :]

    def _path(self, relative: str) -> str:
        return os.path.join(self._root.path, relative)


def identity_in(home: str) -> dict[str, str]:
    """Return `user.name` and `user.email` from a home that commands can write, and no other settings."""
    try:
        fd = os.open(f"{home}/.gitconfig", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return {}
    try:
        entries = parse(os.read(fd, MAX_BYTES))
    except (OSError, UnreadableConfigurationError):
        return {}
    finally:
        os.close(fd)
    return {entry.key: entry.value for entry in entries if entry.key in ("user.name", "user.email")}


def _joined(directory: str, value: str) -> str:
    return os.path.normpath(os.path.join(directory, os.path.expanduser(value)))


def _outside_text(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(fd, MAX_BYTES)
    finally:
        os.close(fd)


def _signature(path: str) -> tuple[int, ...] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns
