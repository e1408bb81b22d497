"""The index of a repository: its gitlinks, which git looks into as repositories, and the files that git tracks."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

MAX_BYTES = 1 << 28
_GITLINK = 0o160000
_MARK = struct.pack(">I", _GITLINK)
_FIXED = 62
"""Bytes of an entry before its name, with a hash of 20 bytes."""


class UnreadableIndexError(Exception):
    """The index is in a format that this module cannot read."""


def gitlinks(data: bytes) -> frozenset[str]:
    """Return the paths of all gitlinks. An index without any is recognised quickly, whatever its size."""
    if not data or _MARK not in data:
        return frozenset()
    return frozenset(name for mode, name in _entries(data) if mode == _GITLINK)


def tracked(data: bytes, wanted: Collection[str]) -> frozenset[str]:
    """Return those of the wanted paths that git tracks, and directories that contain tracked files."""
    if not data or not wanted:
        return frozenset()
    below = tuple((path, f"{path}/") for path in wanted)
    names = [name for _, name in _entries(data)]
    return frozenset(path for path, start in below if any(name == path or name.startswith(start) for name in names))


def _entries(data: bytes) -> list[tuple[int, str]]:
    """Return mode and path of every entry."""
    if data[:4] != b"DIRC" or len(data) < 12:
        raise UnreadableIndexError("it does not begin as an index does")
    version, count = struct.unpack(">II", data[4:12])
    if version not in (2, 3, 4):
        raise UnreadableIndexError(f"its version is {version}")
    for fixed in (_FIXED, _FIXED + 12):  # SHA-1, then SHA-256
        try:
            return list(_parsed(data, version, count, fixed))
        except (UnreadableIndexError, IndexError, struct.error, ValueError):
            continue
    raise UnreadableIndexError("its entries cannot be told apart")


def _parsed(data: bytes, version: int, count: int, fixed: int) -> Iterator[tuple[int, str]]:
    at, name = 12, b""
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + 24)
        (flags,) = struct.unpack_from(">H", data, at + fixed - 2)
        start = at + fixed + (2 if flags & 0x4000 else 0)
        if version == 4:
            cut, start = _number(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - cut] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            at += (end - at + 8) & ~7
        if mode >> 12 not in (0o4, 0o10, 0o12, 0o16):
            raise UnreadableIndexError("an entry has no known type")
        yield mode, name.decode("utf-8", "surrogateescape")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Decode git's variable-length number (seven bits per byte); return it and the offset after it."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
