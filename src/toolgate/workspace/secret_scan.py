"""Finds the secret files of a project, and those that rules deny. A folder that has not changed is not read again."""

from __future__ import annotations

import os
import posixpath
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from toolgate.errors import ToolError
from toolgate.workspace.beneath import scan_directory
from toolgate.workspace.outputs import is_output_name
from toolgate.workspace.secret_files import SNIFFED, secret_content, secret_name

if TYPE_CHECKING:
    from toolgate.workspace.root import Workspace

MAX_FOLDERS = 5_000
MAX_ENTRIES = 200_000
"""Bounds of one scan. What lies beyond them is not found, and the result says so."""
_MAX_HIDDEN = 1_000
"""Folders below denied ones that are searched for files with other names elsewhere."""
_RUNTIME = ".toolgate"
_NEVER = frozenset({".git", ".hg", ".svn", ".jj", ".toolgate"})
_HEAVY = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache"})
"""Directories of other people's packages. Only rules that deny are looked for in them."""
_SNIFFED_NAMES = frozenset({".npmrc", ".yarnrc.yml", "credentials.json", "kubeconfig"})
_SNIFFED_ENDINGS = (".pem", ".key", ".p8", ".crt", ".cer", ".asc", ".age")
"""Files whose content decides."""
_SETTLED = 100_000_000
"""Nanoseconds after which a folder's time of change tells whether it changed."""


class PathPattern(Protocol):
    """A pattern for paths relative to the root."""

    @property
    def rule(self) -> str:
        """The rule that the pattern belongs to, as a person finds it; empty if it belongs to none."""
        ...

    def matches(self, path: str) -> bool:
        """Whether a path (in normal form) fits."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsFound:
    """What a scan found, by paths relative to the root."""

    secrets: Mapping[str, str]
    """Files that may hold secrets, and what they hold."""
    denied: frozenset[str]
    """Files and directories that a rule denies, and every other name of theirs."""
    shown: frozenset[str] = frozenset()
    """Secret files that a rule allows to read. They are not among `secrets`."""
    complete: bool = True
    """Whether the whole tree was looked at."""

    def joined(self, other: SecretsFound) -> SecretsFound:
        """What both scans found."""
        return SecretsFound(
            secrets={**self.secrets, **other.secrets},
            denied=self.denied | other.denied,
            shown=self.shown | other.shown,
            complete=self.complete and other.complete,
        )


@dataclass(slots=True)
class _Folder:
    changed: tuple[int, int]
    settled: bool
    secrets: dict[str, str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    journals: list[str] = field(default_factory=list)
    entries: int = 0
    hidden: bool = False
    """Whether it is a denied folder, or lies below one."""
    linked: list[tuple[int, int]] = field(default_factory=list)
    """Files of a denied folder that have other names, by device and inode."""


class _Seen(NamedTuple):
    """What one scan has seen. Scans in several threads each use one as a whole, so none mixes it with a newer one."""

    denied: tuple[PathPattern, ...] = ()
    folders: Mapping[str, _Folder] = MappingProxyType({})
    relevant: Sequence[_Folder] = ()
    """The folders with secret files, denied files, or files that may be either."""
    complete: bool = True
    unread: bool = False
    """Whether it met a folder that it could not read. That folder may be readable now."""


class SecretScan:
    """Scans of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._seen = _Seen()
        self._denied_files: dict[tuple[int, int], str] = {}
        """Files that were denied before: one that was moved is still denied."""

    @property
    def folders(self) -> int:
        """How many folders the last scan looked at; 0 if there was none."""
        return len(self._seen.folders)

    def find(
        self, denied: Sequence[PathPattern] = (), linked: Collection[tuple[int, int]] = frozenset()
    ) -> SecretsFound:
        """Scan the tree. It is cheap if little has changed since the last scan.

        `linked` are files by device and inode that are denied by every name.
        """
        seen = self._seen
        if seen.denied != tuple(denied):
            seen = _Seen(tuple(denied))
        changed = self._changed_folders(seen)
        if changed or seen.unread or not seen.folders:
            known = {path: folder for path, folder in seen.folders.items() if path not in changed}
            seen = self._seen = self._rescan(known, seen.denied)
        secrets: dict[str, str] = {}
        refused: set[str] = set()
        for folder in seen.relevant:
            refused.update(folder.denied)
            secrets.update(folder.secrets)
            secrets.update(self._by_content(folder.unsure))
            secrets.update(self._link_targets(folder.links))
        refused.update(self._journals(seen))
        self._add_other_names(seen, secrets, refused, linked)
        return SecretsFound(secrets=secrets, denied=frozenset(refused), complete=seen.complete)

    def _journals(self, seen: _Seen) -> Iterator[str]:
        """Return the journals of other projects in this one: what their files held."""
        paths = [path for folder in seen.relevant for path in folder.journals]
        if self._workspace.prefix:  # a further directory: its own one is hidden by nothing else
            paths.append(f"{_RUNTIME}/journal")
        return (path for path in paths if self._stat(path) is not None)

    def _changed_folders(self, seen: _Seen) -> set[str]:
        """The folders that may not be as they were seen. This is all that a scan does if nothing has changed."""
        root, look, changed = self._workspace.fd, os.stat, set[str]()
        for path, folder in seen.folders.items():
            try:
                info = look(path, dir_fd=root, follow_symlinks=False)
            except OSError:
                changed.add(path)
                continue
            # the time of change, because a command can set that of modification back
            if not folder.settled or folder.changed != (info.st_ino, info.st_ctime_ns):
                changed.add(path)
        return changed

    def _rescan(self, known: Mapping[str, _Folder], denied: tuple[PathPattern, ...]) -> _Seen:
        """Visit every folder, and read those that are not known."""
        folders: dict[str, _Folder] = {}
        entries = open_folders = 0
        complete, unread = True, False
        for path, folder in self._walk(known, denied):
            if folder is None:
                unread = True
                continue
            entries += 0 if folder.hidden else folder.entries
            if open_folders >= MAX_FOLDERS or entries > MAX_ENTRIES:
                complete = False
                break
            open_folders += not folder.hidden
            folders[path] = folder
        relevant = [
            one
            for one in folders.values()
            if one.denied or one.secrets or one.unsure or one.links or one.linked or one.journals
        ]
        return _Seen(denied, folders, relevant, complete, unread)

    def _walk(
        self, known: Mapping[str, _Folder], denied: tuple[PathPattern, ...]
    ) -> Iterator[tuple[str, _Folder | None]]:
        """Yield every folder; None for one that cannot be read."""
        waiting = [(".", False)]
        hidden_folders = 0
        while waiting:
            path, hidden = waiting.pop()
            hidden_folders += hidden
            if hidden_folders > _MAX_HIDDEN and hidden:
                continue
            folder = None if hidden else known.get(path)  # in a hidden one, the links of files count as well
            if folder is None:
                folder = self._folder(path, hidden, denied)
            yield path, folder
            if folder is not None and folder.folders:
                closed = set(folder.denied)
                waiting.extend((below, hidden or below in closed) for below in reversed(folder.folders))

    def _folder(self, path: str, hidden: bool, denied: tuple[PathPattern, ...]) -> _Folder | None:
        try:
            fd = self._workspace.open_directory(() if path == "." else path.split("/"))
        except OSError:  # commands of the same user cannot look into it either
            return None
        try:
            info = os.fstat(fd)
            settled = time.time_ns() - info.st_ctime_ns > _SETTLED
            return _read(path, fd, _Folder((info.st_ino, info.st_ctime_ns), settled, hidden=hidden), denied)
        except OSError:
            return None
        finally:
            os.close(fd)

    def _by_content(self, paths: Sequence[str]) -> dict[str, str]:
        found = {}
        for path in paths:
            with suppress(ToolError, OSError), self._workspace.open_file(path) as file:
                if reason := secret_content(os.pread(file.fd, SNIFFED, 0)):
                    found[path] = reason
        return found

    def _link_targets(self, links: Sequence[str]) -> dict[str, str]:
        """Return the files inside the root that links with secret names lead to, with what they may hold."""
        found = {}
        for path in links:
            with suppress(ToolError):
                target = "/".join(self._workspace.locate(path).parts)
                if self._workspace.is_file(target):
                    found[target] = secret_name(path)
        return found

    def _add_other_names(
        self, seen: _Seen, secrets: dict[str, str], refused: set[str], linked: Collection[tuple[int, int]]
    ) -> None:
        """Add the other hard links of these files, and files that were denied and have been moved."""
        sought: dict[tuple[int, int], str | None] = {key: None for folder in seen.relevant for key in folder.linked}
        sought.update(dict.fromkeys(linked))
        now: dict[tuple[int, int], str] = {}
        for path in (*secrets, *refused):
            info = self._stat(path)
            if info is None or not stat.S_ISREG(info.st_mode):
                continue
            if info.st_nlink > 1:
                sought[info.st_dev, info.st_ino] = secrets.get(path) if path not in refused else None
            if path in refused:
                now[info.st_dev, info.st_ino] = path
        moved = {key for key in self._denied_files if key not in now} if seen.denied else set()
        if sought or moved:
            for path, key in self._inodes(seen, {key[1] for key in (*sought, *moved)}):
                if key in moved or (key in sought and sought[key] is None):
                    refused.add(path)
                    now[key] = path
                elif key in sought:
                    secrets.setdefault(path, sought[key] or "")
        self._denied_files = now

    def _inodes(self, seen: _Seen, wanted: set[int]) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield every path of the scanned folders with one of these inodes."""
        for path, folder in seen.folders.items():
            if folder.hidden:
                continue
            try:
                with (
                    self._workspace.directory(() if path == "." else tuple(path.split("/"))) as fd,
                    scan_directory(fd) as entries,
                ):
                    names = [entry.name for entry in entries if entry.inode() in wanted]
            except OSError:
                continue
            for name in names:
                full = name if path == "." else posixpath.join(path, name)
                info = self._stat(full)
                if info is not None:
                    yield full, (info.st_dev, info.st_ino)

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            with self._workspace.directory(tuple(path.split("/")[:-1])) as fd:
                return os.stat(posixpath.basename(path), dir_fd=fd, follow_symlinks=False)
        except OSError:
            return None


def _read(path: str, fd: int, folder: _Folder, denied: Sequence[PathPattern]) -> _Folder:
    with scan_directory(fd) as entries:
        for entry in entries:
            folder.entries += 1
            if folder.entries > MAX_ENTRIES:
                break
            _classify(entry, entry.name if path == "." else f"{path}/{entry.name}", folder, denied)
    return folder


def _classify(entry: os.DirEntry[str], path: str, folder: _Folder, denied: Sequence[PathPattern]) -> None:
    if folder.hidden:
        _classify_hidden(entry, path, folder)
    elif any(pattern.matches(path) for pattern in denied):
        folder.denied.append(path)
        if entry.is_dir(follow_symlinks=False):
            folder.folders.append(path)
    elif entry.is_dir(follow_symlinks=False):
        if entry.name not in _NEVER and (denied or entry.name not in _HEAVY):
            folder.folders.append(path)
        elif entry.name == _RUNTIME and path != _RUNTIME:
            folder.journals.append(f"{path}/journal")
    elif is_output_name(entry.name):  # a session makes many, and their names say nothing else
        return
    elif reason := secret_name(path):
        if entry.is_symlink():
            folder.links.append(path)
        elif entry.is_file(follow_symlinks=False):
            folder.secrets[path] = reason
    elif entry.name.lower() in _SNIFFED_NAMES or entry.name.lower().endswith(_SNIFFED_ENDINGS):
        folder.unsure.append(path)


def _classify_hidden(entry: os.DirEntry[str], path: str, folder: _Folder) -> None:
    """Note what leads out of a denied folder: a file that has another name may be read by that."""
    if entry.is_dir(follow_symlinks=False):
        folder.folders.append(path)
    elif entry.is_file(follow_symlinks=False) and (info := entry.stat(follow_symlinks=False)).st_nlink > 1:
        folder.linked.append((info.st_dev, info.st_ino))
