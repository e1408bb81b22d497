"""The journal: every write is recorded before it happens, with what was there, so that it can be taken back.

It lives in `.toolgate/journal/` beneath the root, which the tools cannot write and git ignores: one JSON line per write
in `journal.jsonl`, and the earlier content of each file in `images/` (a hard link where the file system allows it). A
record is durable before the file changes; after a crash the files themselves show whether a recorded write took place.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.ids import uuid7
from toolgate.system import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, fcntl
from toolgate.workspace.journal_entries import JournalEntry, Key, Origin, Snapshot, Write
from toolgate.workspace.oserrors import from_os_error
from toolgate.workspace.pieces import write_all
from toolgate.workspace.root import Workspace
from toolgate.workspace.threads import Stop

if TYPE_CHECKING:
    from toolgate.workspace.undo import Last, Undone

DIRECTORY = ".toolgate/journal"
"""The journal's directory, relative to the root."""
MOST_ENTRIES = 2_000
"""Most writes that can be undone. Older ones are dropped."""
MOST_BYTES = 512 << 20
"""Bytes of earlier contents that are kept. The newest is kept whatever its size."""
_LOCK_TIMEOUT = 10.0
_PRUNE_EVERY = 100
_FILE = "journal.jsonl"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC
_ENTER = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC


class Journal:
    """The record of one root. `open` takes the lock that all writers of the root share, in every process."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._writes = 0

    @contextmanager
    def open(self, stop: Stop) -> Iterator["OpenJournal"]:
        """Open the journal, locked for one change."""
        with ExitStack() as held:
            try:
                directory = self._enter()
                held.callback(os.close, directory)
                held.callback(os.close, _lock(directory, stop))
                opened = OpenJournal(directory)
            except OSError as error:
                raise from_os_error(error, DIRECTORY) from None
            held.callback(opened.close)
            yield opened

    def undo(self, last: "Last" = "call", *, session_id: str | None = None) -> "list[Undone]":
        """Undo the last call, turn or session that wrote; see `toolgate.workspace.undo`."""
        from toolgate.workspace.undo import undo

        return undo(self._workspace, last, session_id=session_id)

    def prune_sometimes(self, opened: "OpenJournal") -> None:
        """Drop old entries at the first write, and then regularly."""
        if self._writes % _PRUNE_EVERY == 0:
            opened.prune(MOST_ENTRIES, MOST_BYTES)
        self._writes += 1

    def _enter(self) -> int:
        fd = self._workspace.open_dir(".")
        for name, mode in ((".toolgate", 0o755), ("journal", 0o700)):
            try:
                with suppress(FileExistsError):
                    os.mkdir(name, mode, dir_fd=fd)
                child = os.open(name, _ENTER, dir_fd=fd)
            finally:
                os.close(fd)
            fd = child
        try:
            os.mkdir("images", 0o700, dir_fd=fd)
            _ignore_itself(fd)
        except FileExistsError:
            return fd
        except OSError:
            with suppress(OSError):
                os.rmdir("images", dir_fd=fd)
            os.close(fd)
            raise
        return fd


def _ignore_itself(directory: int) -> None:
    """Hide the directory from git, or leave nothing."""
    with suppress(FileExistsError):
        ignore = os.open(".gitignore", _NEW, 0o600, dir_fd=directory)
        try:
            write_all(ignore, b"*\n")
        except OSError:
            os.unlink(".gitignore", dir_fd=directory)
            raise
        finally:
            os.close(ignore)


class OpenJournal:
    """The journal while its lock is held."""

    def __init__(self, directory: int) -> None:
        self._directory = directory
        self._images = os.open("images", _ENTER, dir_fd=directory)

    def close(self) -> None:
        """Close what was opened."""
        os.close(self._images)

    def record(self, origin: Origin, writes: Sequence[Write], contents: Sequence[int] = ()) -> list[JournalEntry]:
        """Record the writes of one call, which are about to happen.

        When this returns, the records, the earlier contents and the open files in `contents` are complete and on disk.
        If it raises, no record exists, and nothing must be written.
        """
        entries = [_entry(origin, write) for write in writes]
        try:
            for entry, write in zip(entries, writes, strict=True):
                if write.kept is not None:
                    self._keep(entry.id, *write.kept)
            self._append(*(entry.to_dict() for entry in entries), contents=contents)
        except BaseException:
            for entry in entries:
                self._forget_image(entry.id)
            raise
        return entries

    def record_undone(self, entry: JournalEntry, restored: Snapshot | None) -> None:
        """Record that an entry was undone. Its image is no longer needed."""
        self._append({"undone": entry.id, "restored": restored.to_dict() if restored else None})
        self._forget_image(entry.id)

    def image(self, entry: JournalEntry) -> tuple[int, str]:
        """Return the directory and name of the content that an entry replaced."""
        return self._images, entry.id

    def entries(self) -> tuple[list[JournalEntry], dict[Key, Key]]:
        """Return all entries that were not undone, oldest first, and the restored copies with their originals."""
        entries: dict[str, JournalEntry] = {}
        aliases: dict[Key, Key] = {}
        for document in self._documents():
            if "undone" in document:
                undone = entries.pop(document["undone"], None)
                restored = Snapshot.from_dict(document.get("restored"))
                if undone is not None and undone.before is not None and restored is not None:
                    aliases[restored.key] = undone.before.key
            else:
                try:
                    entry = JournalEntry.from_dict(document)
                except (KeyError, TypeError, ValueError) as error:
                    logger("workspace").warning("journal_entry_unreadable", error=type(error).__name__)
                    continue
                entries[entry.id] = entry
        return list(entries.values()), aliases

    def prune(self, most_entries: int, most_bytes: int) -> None:
        """Drop the oldest entries over the limits, and images that no entry names.

        Entries are dropped only when the shorter journal is complete. If there is no space for it, all stay.
        """
        entries, _ = self.entries()
        kept = _newest(entries, most_entries, most_bytes)
        if len(kept) < len(entries):
            try:
                self._rewrite([entry.to_dict() for entry in kept])
            except OSError as error:
                logger("workspace").warning("journal_not_pruned", error=os.strerror(error.errno or 0))
                kept = entries
        names = {entry.id for entry in kept}
        for name in os.listdir(self._images):
            if name not in names:
                self._forget_image(name)

    def _forget_image(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._images)

    def _keep(self, image: str, directory: int, name: str) -> None:
        try:
            os.link(name, image, src_dir_fd=directory, dst_dir_fd=self._images, follow_symlinks=False)
        except OSError:  # another device, or hard links are not supported or not allowed here
            copy_file(directory, name, self._images, image)

    def _append(self, *documents: dict[str, Any], contents: Sequence[int] = ()) -> None:
        """Append one line per document completely and on disk, with `contents`, or leave the journal as it was."""
        line = _lines(documents)
        fd = os.open(
            _FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._directory
        )
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line  # a writer was killed in the middle of its line
            try:
                write_all(fd, line)
                os.fdatasync(fd)  # some file systems report a full disk only here
                for content in contents:  # their writing was requested before, so most of the wait is over
                    os.fsync(content)
            except BaseException:
                os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)

    def _documents(self) -> Iterator[dict[str, Any]]:
        try:
            fd = os.open(_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._directory)
        except FileNotFoundError:
            return
        with os.fdopen(fd, "rb") as file:
            for line in file:
                try:
                    document = json.loads(line)
                except ValueError:  # the unfinished line of a killed writer
                    continue
                if isinstance(document, dict):
                    yield document

    def _rewrite(self, documents: list[dict[str, Any]]) -> None:
        content = _lines(documents)
        with suppress(FileNotFoundError):
            os.unlink(f"{_FILE}.new", dir_fd=self._directory)
        fd = os.open(f"{_FILE}.new", _NEW, 0o600, dir_fd=self._directory)
        try:
            write_all(fd, content)
            os.fsync(fd)
        except BaseException:
            os.unlink(f"{_FILE}.new", dir_fd=self._directory)
            raise
        finally:
            os.close(fd)
        os.rename(f"{_FILE}.new", _FILE, src_dir_fd=self._directory, dst_dir_fd=self._directory)


def _entry(origin: Origin, write: Write) -> JournalEntry:
    return JournalEntry(
        id=uuid7(),
        time=time.time(),
        origin=origin,
        path=write.path,
        before=write.before,
        after=write.after,
        made=write.made,
    )


def _lines(documents: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(document, separators=(",", ":")).encode() + b"\n" for document in documents)


def _newest(entries: list[JournalEntry], most_entries: int, most_bytes: int) -> list[JournalEntry]:
    """Return the newest entries within the limits, oldest first."""
    kept: list[JournalEntry] = []
    size = 0
    for entry in reversed(entries[-most_entries:]):
        size += entry.before.size if entry.before else 0
        if kept and size > most_bytes:
            break
        kept.append(entry)
    return kept[::-1]


def copy_file(source_directory: int, source: str, directory: int, name: str) -> None:
    """Copy a regular file completely and to disk, or leave nothing."""
    from_fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source_directory)
    try:
        info = os.fstat(from_fd)
        to_fd = os.open(name, _NEW, 0o600, dir_fd=directory)
        try:
            position = 0
            while data := os.pread(from_fd, 1 << 20, position):
                write_all(to_fd, data)
                position += len(data)
            os.utime(to_fd, ns=(info.st_atime_ns, info.st_mtime_ns))
            os.fsync(to_fd)
        except BaseException:
            os.unlink(name, dir_fd=directory)
            raise
        finally:
            os.close(to_fd)
    finally:
        os.close(from_fd)


def _lock(directory: int, stop: Stop) -> int:
    """Return the descriptor that holds the lock. Closing it, or dying, releases the lock."""
    fd = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        _wait_for(fd, stop)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _wait_for(fd: int, stop: Stop) -> None:
    deadline = time.monotonic() + _LOCK_TIMEOUT
    pause = 0.0005
    while True:
        stop.check()
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ToolError(
                    ErrorCode.EXECUTION_ERROR,
                    f"Another process has been writing in this workspace for {_LOCK_TIMEOUT:g} s.",
                    "Try again in a moment.",
                ) from None
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
