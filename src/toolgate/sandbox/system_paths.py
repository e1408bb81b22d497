"""The system files that every command may read, without those that only some users may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cache

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


@cache
def private_configuration() -> tuple[tuple[str, bool], ...]:
    """Paths in `/etc` that only some users may read (shadow passwords, host keys), and whether each is a directory.

    The file's mode decides, not a list of names. What the administrator closed to others stays closed, also for a
    runtime that runs as root.
    """
    return tuple(_private(_ETC))


def _private(directory: str) -> Iterator[tuple[str, bool]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except PermissionError:
        return
    for entry in entries:
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            if info.st_mode & 0o005 == 0o005:
                yield from _private(entry.path)
            else:
                yield entry.path, True
        elif stat.S_ISREG(info.st_mode) and not info.st_mode & stat.S_IROTH:
            yield entry.path, False


@cache
def resolver_mounts() -> tuple[Mount, ...]:
    """The resolver's configuration, for commands with network. It is often a link into `/run`."""
    real = os.path.realpath("/etc/resolv.conf")
    return (Mount("ro", real, real),) if real.startswith("/run/") and os.path.isfile(real) else ()
