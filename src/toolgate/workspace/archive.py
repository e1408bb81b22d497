"""A directory as one file: packed after a call, unpacked on another machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from typing import IO, Any

from toolgate.errors import WorkspaceError
from toolgate.workspace.archive_base import ArchiveBase, fill
from toolgate.workspace.journal import DIRECTORY
from toolgate.workspace.journal_entries import Key
from toolgate.workspace.threads import Stop

_PIECE = 256 * 1024
_KEY = "TOOLGATE.key"
"""The header that has the device, the inode and the exact time of a packed file."""
_COMMIT = "TOOLGATE.commit"
"""The header of an archive that has only what is not in this commit."""


class _Limited:
    """A file that refuses to become larger than allowed, and knows the hash of its content."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._left = limit
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write all of it."""
        self._left -= len(data)
        if self._left < 0:
            raise WorkspaceError("too large")
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data)


def signature(stop: Stop, directory: str) -> str:
    """Changes whenever a file, a directory or a link is added, removed or written."""
    digest = hashlib.sha256()
    for place, directories, files in os.walk(directory):
        stop.check()
        directories.sort()
        for name in sorted((*directories, *files)):
            path = os.path.join(place, name)
            found = os.lstat(path)
            digest.update(f"{path}\0{found.st_mode}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}\0".encode())
    return digest.hexdigest()


def pack(stop: Stop, directory: str, path: str, limit: int, base: ArchiveBase | None = None) -> tuple[str, int]:
    """Write the files, directories and links of a directory to one file; return its hash and its size.

    Of the files that still are those of the `base`, only the names are written. Raises `WorkspaceError` if it would be
    larger than `limit` bytes.
    """

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        stop.check()
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        found = os.lstat(os.path.join(directory, member.name))
        member.pax_headers = {_KEY: f"{found.st_dev} {found.st_ino} {found.st_mtime_ns}"}
        if base is not None and base.has(member, found):
            return base.without_content(member)
        return member if member.isreg() or member.isdir() or member.issym() or member.islnk() else None

    with new_file(path) as file:
        limited = _Limited(file, limit)
        header = {} if base is None else {_COMMIT: base.commit}
        options: dict[str, Any] = {"fileobj": limited, "format": tarfile.PAX_FORMAT, "pax_headers": header}
        with tarfile.open(mode="w|", **options) as archive:
            archive.add(directory, arcname=".", filter=kept)
    return limited.digest.hexdigest(), limited.size


def make_parent(_stop: Stop, parent: str) -> None:
    """Create the directory that the directories of sessions are in, for this user only."""
    try:
        os.makedirs(parent, mode=0o700, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(
            f"The directory {parent} cannot be made ({error.strerror}). Set TOOLGATE_DISTRIBUTED_WORKSPACE_DIR to one "
            "that the worker can write to."
        ) from error


def new_file(path: str) -> IO[bytes]:
    """Open a new file for writing."""
    return open(path, "xb")


@contextlib.contextmanager
def temporary(parent: str) -> Iterator[str]:
    """The name of a packed file that is removed after the block."""
    with tempfile.TemporaryDirectory(dir=parent, prefix=".packed-") as directory:
        yield os.path.join(directory, "workspace.tar")


def pieces(path: str) -> Iterator[bytes]:
    """The packed file, piece by piece."""
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def commit_of(_stop: Stop, path: str) -> str | None:
    """The commit without which a packed file is not complete."""
    try:
        with tarfile.open(path, mode="r:") as archive:
            return archive.pax_headers.get(_COMMIT)
    except (OSError, tarfile.TarError) as error:
        raise WorkspaceError(str(error)) from error


def unpack(_stop: Stop, path: str, directory: str, clone: str | None = None) -> list[str]:
    """Put what was packed into the place of a directory. If that fails, the directory is as it was.

    `clone` has the files of the commit that the packed file needs; those are moved, and their names are returned.
    """
    fresh = f"{directory}.{uuid.uuid4().hex}.new"
    try:
        os.mkdir(fresh, 0o700)
        with tarfile.open(path, mode="r:") as archive:
            if clone is None and _COMMIT in archive.pax_headers:
                raise ValueError("a worker with TOOLGATE_DISTRIBUTED_WORKSPACES=git stored them: set up all alike")
            archive.extractall(fresh, filter="tar")
            members = archive.getmembers()
            filled = [] if clone is None else fill(fresh, clone, members)
            moved = dict(_moved(fresh, member) for member in members if not member.issym())
        _update_journal(os.path.join(fresh, DIRECTORY, "journal.jsonl"), moved)
        replace(fresh, directory)
        return filled
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise WorkspaceError(str(error)) from error


def _moved(directory: str, member: tarfile.TarInfo) -> tuple[Key, Key]:
    """The identity of a file where it was packed, and here. It gets back its exact time, which tar has rounded."""
    path = os.path.join(directory, member.name)
    device, inode, changed = map(int, member.pax_headers[_KEY].split())
    os.utime(path, ns=(changed, changed), follow_symlinks=False)
    here = os.lstat(path)
    return (device, inode, here.st_size, changed), (here.st_dev, here.st_ino, here.st_size, here.st_mtime_ns)


def _update_journal(path: str, moved: dict[Key, Key]) -> None:
    """Let the journal know the files by their identity here, so that undo still finds them unchanged."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return
    documents = [_with_new_identities(json.loads(line), moved) for line in lines]
    with open(path, "wb") as file:
        file.writelines(json.dumps(document).encode() + b"\n" for document in documents)


def _with_new_identities(document: dict[str, Any], moved: dict[Key, Key]) -> dict[str, Any]:
    for state in (document.get(name) for name in ("before", "after", "restored")):
        if isinstance(state, dict):
            here = moved.get((state["dev"], state["ino"], state["size"], state["mtime_ns"]))
            state.update({} if here is None else {"dev": here[0], "ino": here[1]})
    return document


def replace(fresh: str, directory: str) -> None:
    """Give a new directory the name of an old one, which is removed."""
    old = f"{fresh}.old"
    if os.path.lexists(directory):
        os.rename(directory, old)
    os.rename(fresh, directory)
    shutil.rmtree(old, ignore_errors=True)


def move_into_place(_stop: Stop, fresh: str, directory: str) -> None:
    """Replace a directory with one that another program has made."""
    try:
        os.chmod(fresh, 0o700)
        replace(fresh, directory)
    except OSError as error:
        raise WorkspaceError(str(error)) from error


def remove(_stop: Stop, directory: str) -> None:
    """Remove a directory that is not needed, if it is there."""
    shutil.rmtree(directory, ignore_errors=True)


def _marker(directory: str) -> str:
    return f"{directory}.stored"


def is_unchanged(_stop: Stop, directory: str, stored: str) -> bool:
    """Whether the directory has the content of this hash, and nothing was done in it since."""
    try:
        with open(_marker(directory), encoding="ascii") as file:
            return file.read() == stored and os.path.isdir(directory)
    except OSError:
        return False


def mark_stored(_stop: Stop, directory: str, stored: str) -> None:
    """Note that the directory has the content of this hash."""
    with open(_marker(directory), "w", encoding="ascii") as file:
        file.write(stored)


def unmark_stored(_stop: Stop, directory: str) -> None:
    """Forget the hash of the directory, because its content may change from now on."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_marker(directory))
