"""Checks SQLite's own log (`-wal`): whether SQLite has read every transaction that was acknowledged.

SQLite reads its log up to the first incomplete frame and ignores the rest. After a crash that is right: the last
transaction may be incomplete, and it was never acknowledged. But a frame that is damaged in the middle also loses every
transaction after it. The two cases differ: each commit waits for the disk, so if two commits follow a damaged frame, at
least one of them was acknowledged.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from toolgate.protocol.ids import uuid7
from toolgate.system import O_BINARY, O_CLOEXEC

_HEADER: Final = 32
_FRAME: Final = 24
_INDEX: Final = 136
_MAGIC: Final = (0x377F0682, 0x377F0683)


class LogState(NamedTuple):
    """A log as it is on the disk, before SQLite has read it."""

    salts: bytes
    """The salts of this generation of the log: every frame of it has them."""
    commits: tuple[int, ...]
    """The numbers of the frames that end a transaction, from 1."""
    promised: int
    """The number of frames that the last process had written, by the index; 0 if unknown."""
    wrong: str
    """Why SQLite cannot read any of it; empty if it can."""


def log_state(path: str) -> LogState | None:
    """The log of a database; None if there is none, or none that matters."""
    promised, salts_of_index, _ = _index(_read(f"{path}-shm", _INDEX))
    try:
        with open(f"{path}-wal", "rb") as log:
            length = os.fstat(log.fileno()).st_size
            if length == 0:
                return _without_log(path, "it is empty")
            header = log.read(_HEADER)
            if not _is_log_header(header):
                return LogState(b"", (), 0, "its header is damaged") if length >= _HEADER + _FRAME else None
            commits = tuple(_commits(log, int.from_bytes(header[8:12], "big"), header[16:24], length))
    except FileNotFoundError:
        return _without_log(path, "it is missing")
    return LogState(header[16:24], commits, promised if header[16:24] == salts_of_index else 0, "")


def _without_log(path: str, wrong: str) -> LogState | None:
    """The state without a log. Read the index only now: a process that closes the database copies its log first."""
    promised, _, copied = _index(_read(f"{path}-shm", _INDEX))
    return LogState(b"", (), promised, wrong) if promised > copied else None


def _commits(log: BinaryIO, page: int, salts: bytes, length: int) -> Iterator[int]:
    """The numbers of the frames of this generation that end a transaction."""
    for number in range(1, (length - _HEADER) // (page + _FRAME) + 1):
        log.seek(_HEADER + (number - 1) * (page + _FRAME))
        frame = log.read(_FRAME)
        if frame[8:16] == salts and frame[4:8] != bytes(4):
            yield number


def merged(path: str) -> bytes:
    """The database with the committed part of its log, as an image that SQLite can open in memory.

    Damaged frames are not detected: the image is only used to find out whose database it is.
    """
    image = bytearray(_read(path, -1))
    log = _read(f"{path}-wal", -1)
    if _is_log_header(log[:_HEADER]):
        page, salts = int.from_bytes(log[8:12], "big"), log[16:24]
        waiting: dict[int, bytes] = {}
        for start in range(_HEADER, len(log) - page - _FRAME + 1, page + _FRAME):
            head = log[start : start + _FRAME]
            if head[8:16] != salts:
                break
            waiting[int.from_bytes(head[:4], "big")] = log[start + _FRAME : start + _FRAME + page]
            if head[4:8] != bytes(4):
                _write_pages(image, waiting, page)
                waiting = {}
    image[18:20] = b"\1\1"  # a database in memory has no log
    return bytes(image)


def _write_pages(image: bytearray, pages: dict[int, bytes], size: int) -> None:
    for number, content in pages.items():
        end = number * size
        image.extend(bytes(max(0, end - len(image))))
        image[end - size : end] = content


def lost(before: LogState, path: str, connection: sqlite3.Connection) -> str:
    """A sentence about what SQLite has not read from the log; empty if nothing is certainly missing.

    The connection reads from the database, so that SQLite has read its log.
    """
    if before.wrong:
        return before.wrong
    connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchall()
    taken, salts, _ = _index(_read(f"{path}-shm", _INDEX))
    if salts != before.salts:
        return ""  # another process has begun the log anew since
    missing = [number for number in before.commits if number > taken]
    if before.promised > taken or len(missing) > 1:
        return f"it is damaged after frame {taken}, and {max(1, len(missing))} transactions after it are lost"
    return ""


def keep_copy(path: str) -> str:
    """Copy the log, so that its data can be rescued; returns the copy's path, empty if that is not possible."""
    copy = f"{path}-wal.{uuid7()}.damaged"
    try:
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_BINARY | O_CLOEXEC, 0o600)
        with open(f"{path}-wal", "rb") as log, open(descriptor, "wb") as kept:
            shutil.copyfileobj(log, kept)
    except OSError:
        return ""
    return copy


def copies(path: str) -> list[str]:
    """The copies of damaged logs that were kept, the oldest first."""
    folder, name = os.path.split(path)
    try:
        found = sorted(entry for entry in os.listdir(folder) if entry.startswith(f"{name}-wal."))
    except OSError:
        return []
    return [os.path.join(folder, entry) for entry in found if entry.endswith(".damaged")]


def _is_log_header(header: bytes) -> bool:
    """Whether SQLite would accept this as the header of a log."""
    if len(header) < _HEADER or int.from_bytes(header[:4], "big") not in _MAGIC:
        return False
    order = ">" if header[3] & 1 else "<"
    first = second = 0
    for left, right in struct.iter_unpack(f"{order}II", header[:24]):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    page = int.from_bytes(header[8:12], "big")
    usual = 512 <= page <= 65_536 and not page & (page - 1)
    return usual and struct.pack(">II", first, second) == header[24:32]


def _index(index: bytes) -> tuple[int, bytes, int]:
    """From the index of a log: how many frames it has, their salts, and how many of them are in the database itself."""
    if len(index) < 100 or index[:48] != index[48:96] or not index[12]:
        return 0, b"", 0
    (frames,), (copied,) = struct.unpack_from("=I", index, 16), struct.unpack_from("=I", index, 96)
    return frames, index[32:40], copied


def _read(path: str, size: int) -> bytes:
    try:
        with open(path, "rb") as found:
            return found.read(size)
    except OSError:
        return b""
