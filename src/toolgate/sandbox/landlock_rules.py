"""The view as Landlock rules, for machines without mounts. Rights only add up, so exclusions list everything else."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from toolgate.protocol.plan import Access

Grant = tuple[str, str]
_SYSTEM = ("/usr", "/opt", "/nix", "/gnu", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/var/lib/dpkg", "/proc")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""Devices of the host that commands can use."""


def cover(directory: str, excluded: Collection[str]) -> Iterator[Grant]:
    """Yield read rights for a directory, excluding some paths in it. Their names stay visible."""
    inside = [path for path in excluded if path.startswith(directory.rstrip("/") + "/")]
    if not inside:
        yield directory, "read"
        return
    yield directory, "list"
    try:
        entries = sorted(entry.path for entry in os.scandir(directory) if not entry.is_symlink())
    except OSError:
        return
    for path in entries:
        if path in inside:
            continue
        if os.path.isdir(path):
            yield from cover(path, inside)
        else:
            yield path, "read"


def system_grants(private: Collection[str]) -> Iterator[Grant]:
    """Yield rights for the system and for the devices that every program expects."""
    for path in _SYSTEM:
        yield path, "read"
    yield from cover("/etc", private)
    for path in DEVICES:
        yield path, "write"


def root_grants(root: str, access: Access, hidden: Collection[str]) -> Iterator[Grant]:
    """Yield rights for the project root."""
    if access == "read":
        yield from cover(root, hidden)
    else:
        yield root, "write"


def files_of(grants: Iterable[Grant]) -> Iterator[tuple[str, int, int]]:
    """Yield which files the paths of rules are: a file that is written anew, or later, is not covered by them."""
    for path, _ in grants:
        try:
            info = os.stat(path, follow_symlinks=False)
        except OSError:
            yield path, 0, 0
        else:
            yield path, info.st_dev, info.st_ino
