"""The index of a repository: its gitlinks, which git looks into as repositories, and the files that git tracks."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from toolgate.workspace.oserrors import is_shortage

if TYPE_CHECKING:
    from toolgate.sandbox.root_directory import RootDirectory

MAX_BYTES = 1 << 28
_GITLINK = 0o160000
_MARK = struct.pack(">I", _GITLINK)
_SPLIT = b"link"
"""The extension of an index that contains only the changes to another one, `sharedindex.HASH`."""

Entry = tuple[int, str]
"""Mode and path."""
Reader = Callable[[str], bytes | None]
"""Returns a file of the git directory by its name, None if it does not exist. It raises `UnreadableIndexError`."""


class UnreadableIndexError(Exception):
    """The index is too large, or in a format that this module cannot read."""


def gitlinks(read: Reader) -> frozenset[str]:
    """Return the paths of all gitlinks. An index without any is recognised quickly, whatever its size."""
    data = read("index")
    if not data or (_MARK not in data and _SPLIT + b"\0" not in data):
        return frozenset()
    return frozenset(name for mode, name in _entries(data, read) if mode == _GITLINK)


def tracked(read: Reader, wanted: Collection[str]) -> frozenset[str]:
    """Return those of the wanted paths that git tracks, and directories that contain tracked files."""
    data = read("index")
    if not data or not wanted:
        return frozenset()
    below = tuple((path, f"{path}/") for path in wanted)
    names = [name for _, name in _entries(data, read)]
    return frozenset(path for path, start in below if any(name == path or name.startswith(start) for name in names))


def git_directory(root: RootDirectory) -> str:
    """Return the path of the root's git directory, which need not exist: `.git`, or what a file of this name names."""
    text = root.read(".git", 4096) or b""
    named = os.fsdecode(text[7:].strip()) if text.startswith(b"gitdir:") else ".git"
    return os.path.normpath(os.path.join(root.path, named))


def index_reader(root: RootDirectory, directory: str) -> Reader:
    """Return a reader for a git directory. Links below the root are not followed."""

    def read(name: str) -> bytes | None:
        path = os.path.join(directory, name)
        try:
            if path.startswith(f"{root.path}/"):
                fd = root.open(os.path.relpath(path, root.path), os.O_RDONLY | os.O_NONBLOCK)
            else:
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if is_shortage(error):
                raise
            raise UnreadableIndexError(error.strerror) from None
        with open(fd, "rb", buffering=0) as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
                raise UnreadableIndexError("it is too large")
            return file.read(MAX_BYTES)

    return read


def _entries(data: bytes, read: Reader) -> list[Entry]:
    """Return all entries, also those that are in the shared index."""
    entries, link, hash_bytes = _parsed(data)
    if link is None or not any(link[:hash_bytes]):
        return entries
    shared = read(f"sharedindex.{link[:hash_bytes].hex()}")
    if shared is None:
        raise UnreadableIndexError("its shared index does not exist")
    return _merged(_parsed(shared)[0], entries, link[hash_bytes:])


def _parsed(data: bytes) -> tuple[list[Entry], bytes | None, int]:
    """Return the entries of one file, its extension that leads to a shared index, and the size of its hashes."""
    if data[:4] != b"DIRC" or len(data) < 12:
        raise UnreadableIndexError("it does not begin as an index does")
    version, count = struct.unpack(">II", data[4:12])
    if version not in (2, 3, 4):
        raise UnreadableIndexError(f"its version is {version}")
    for hash_bytes in (20, 32):  # SHA-1, then SHA-256
        try:
            entries, end = _listed(data, version, count, hash_bytes)
            return entries, _extension(data, end, len(data) - hash_bytes), hash_bytes
        except (UnreadableIndexError, IndexError, struct.error, ValueError):
            continue
    raise UnreadableIndexError("its entries cannot be told apart")


def _listed(data: bytes, version: int, count: int, hash_bytes: int) -> tuple[list[Entry], int]:
    """Return the entries and the offset after them."""
    entries: list[Entry] = []
    at, name = 12, b""
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + 24)
        (flags,) = struct.unpack_from(">H", data, at + 40 + hash_bytes)
        start = at + 42 + hash_bytes + (2 if flags & 0x4000 else 0)
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
        entries.append((mode, name.decode("utf-8", "surrogateescape")))
    return entries, at


def _extension(data: bytes, at: int, end: int) -> bytes | None:
    """Return the content of the extension that leads to a shared index."""
    found = None
    while at < end:
        (size,) = struct.unpack_from(">I", data, at + 4)
        if data[at : at + 4] == _SPLIT:
            found = data[at + 8 : at + 8 + size]
        at += 8 + size
    if at != end:
        raise UnreadableIndexError("its extensions do not end where the hash begins")
    return found


def _merged(shared: list[Entry], entries: list[Entry], changes: bytes) -> list[Entry]:
    """Apply a split index to the shared one: two bitmaps say which entries are deleted and which are replaced.

    The new entries in place of replaced ones come first and have no name.
    """
    if not changes:
        return shared + entries
    try:
        deleted, at = _ones(changes, 0, len(shared))
        replaced, _ = _ones(changes, at, len(shared))
    except struct.error:
        raise UnreadableIndexError("its bitmaps are incomplete") from None
    if len(replaced) > len(entries):
        raise UnreadableIndexError("entries are missing")
    modes = {position: mode for position, (mode, _) in zip(replaced, entries, strict=False)}
    gone = set(deleted)
    kept = [(modes.get(at, mode), name) for at, (mode, name) in enumerate(shared) if at not in gone]
    return kept + entries[len(replaced) :]


def _ones(data: bytes, at: int, size: int) -> tuple[list[int], int]:
    """Decode git's compressed bitmap (EWAH); return the positions of its ones and the offset after it."""
    _, count = struct.unpack_from(">II", data, at)
    words = struct.unpack_from(f">{count}Q", data, at + 8)
    ones: list[int] = []
    position = marker = 0
    while marker < count:
        is_one, run, literals = words[marker] & 1, words[marker] >> 1 & 0xFFFFFFFF, words[marker] >> 33
        if position + 64 * run > size + 64:
            raise UnreadableIndexError("a bitmap is longer than the shared index")
        if is_one:
            ones += range(position, position + 64 * run)
        position += 64 * run
        for word in words[marker + 1 : marker + 1 + literals]:
            ones += [position + bit for bit in range(64) if word >> bit & 1]
            position += 64
        marker += 1 + literals
    return ones, at + 8 + 8 * count + 4


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Decode git's variable-length number (seven bits per byte); return it and the offset after it."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
