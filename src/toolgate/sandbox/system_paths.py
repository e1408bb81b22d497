"""The system files that every command may read, without those that only some users may read."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from functools import cache

from toolgate.sandbox.directory_watch import DirectoryWatch
from toolgate.sandbox.mount_watch import MountWatch
from toolgate.sandbox.view import Mount

_WHOLE = ("/usr", "/opt", "/nix", "/gnu", "/snap")
_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_PARTS = ("/var/lib/dpkg", "/var/lib/rpm", "/var/lib/texmf", "/var/cache/fontconfig", "/sys/devices/system/cpu")
_ETC = "/etc"


@cache
def system_mounts() -> tuple[Mount, ...]:
    """Programs, libraries and configuration, read-only."""
    mounts = [Mount("ro", path, path) for path in _WHOLE if os.path.isdir(path)]
    for path in _LINKS:
        if os.path.islink(path):
            mounts.append(Mount("symlink", path, os.readlink(path)))
        elif os.path.isdir(path):
            mounts.append(Mount("ro", path, path))
    mounts.append(Mount("ro", _ETC, _ETC))
    mounts += [Mount("ro", path, path) for path in _PARTS if os.path.isdir(path)]
    return tuple(mounts)


def private_configuration() -> tuple[tuple[str, bool], ...]:
    """Paths in `/etc` that only some users may read now (shadow passwords, host keys), and whether each is a directory.

    The file's mode decides, not a list of names. What the administrator closed to others stays closed, also for a
    runtime that runs as root.
    """
    return _private_paths(_ETC, os.getpid()).now()


@cache
def _private_paths(directory: str, _process: int) -> PrivatePaths:
    """Return what watches a directory. A forked process has a watch of its own."""
    return PrivatePaths(directory)


class PrivatePaths:
    """What only some users may read in a directory. It is read again after it has changed."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._watches: tuple[DirectoryWatch, MountWatch] | None = None
        """Without them (a user may have too many), the directory is read each time."""
        self._mount_changes = 0
        self._found: tuple[tuple[str, bool], ...] = ()
        self._is_read = False
        """Whether the last attempt to read it was successful."""

    def now(self) -> tuple[tuple[str, bool], ...]:
        """Return the paths, and whether each is a directory."""
        with self._lock:
            if self._has_changed() or not self._is_read:
                self._is_read = False
                self._found = tuple(self._read(self._directory))
                self._is_read = True
            return self._found

    def _has_changed(self) -> bool:
        if self._watches is None:
            self._watches = _make_watches()
            return True
        entries, mounts = self._watches
        before, self._mount_changes = self._mount_changes, mounts.changes()
        return entries.has_changed() or self._mount_changes != before

    def _read(self, directory: str) -> Iterator[tuple[str, bool]]:
        if self._watches is not None:
            self._watches[0].add(directory)
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                continue
            if stat.S_ISDIR(info.st_mode):
                if info.st_mode & 0o005 == 0o005:
                    yield from self._read(entry.path)
                else:
                    yield entry.path, True
            elif stat.S_ISREG(info.st_mode) and not info.st_mode & stat.S_IROTH:
                yield entry.path, False


def _make_watches() -> tuple[DirectoryWatch, MountWatch] | None:
    try:
        entries = DirectoryWatch()
    except OSError:
        return None
    try:
        return entries, MountWatch("self")
    except OSError:
        entries.close()
        return None


@cache
def resolver_mounts() -> tuple[Mount, ...]:
    """The resolver's configuration, for commands with network. It is often a link into `/run`."""
    real = os.path.realpath("/etc/resolv.conf")
    return (Mount("ro", real, real),) if real.startswith("/run/") and os.path.isfile(real) else ()
