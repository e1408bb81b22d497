"""Undoes what the journal recorded: the last call, turn or session."""

import os
import stat
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Literal

from toolgate.errors import UndoRefused
from toolgate.workspace.file_state import digest_file
from toolgate.workspace.journal import DIRECTORY, OpenJournal, copy_file
from toolgate.workspace.journal_entries import JournalEntry, Key, Snapshot
from toolgate.workspace.oserrors import quote
from toolgate.workspace.root import Workspace
from toolgate.workspace.temporary import TEMPORARY
from toolgate.workspace.threads import Stop

Last = Literal["call", "turn", "session"]
"""How much is undone."""
_BLOCK = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_STATE: Key = (0, 0, 0, 0)
"""A state that no entry of the journal has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """One write that was undone."""

    path: str
    action: Literal["restored", "removed", "unchanged"]
    """`unchanged`: the write was recorded, but its writer was killed before it happened."""


def undo(workspace: Workspace, last: Last = "call", *, session_id: str | None = None) -> list[Undone]:
    """Undo the last call, turn or session that wrote, newest write first.

    All files are checked before the first one is changed. If somebody else has changed one since, `UndoRefused` names
    it and nothing happens. Each file is restored atomically; `[]` means that there was nothing to undo.
    """
    workspace.require_present()
    if workspace.stat(DIRECTORY) is None:
        return []
    with workspace.journal.open(Stop()) as journal:
        entries, aliases = journal.entries()
        chosen = _choose(entries, last, session_id)
        steps, changed = check(workspace, journal, chosen, aliases)
        if changed:
            names = ", ".join(quote(path) for path in changed)
            raise UndoRefused(f"Nothing was taken back: changed by someone else since: {names}.")
        undone: list[Undone] = []
        for entry, applied in steps:
            try:
                undone.append(take_back(workspace, journal, entry, applied=applied))
            except OSError as error:
                raise _stopped(entry, undone, error) from None
        return undone


def _stopped(entry: JournalEntry, undone: list[Undone], error: OSError) -> UndoRefused:
    reason = os.strerror(error.errno) if error.errno else "input/output error"
    before = ", ".join(quote(path) for path in dict.fromkeys(one.path for one in undone))
    done = f"Taken back before that: {before}." if before else "Nothing was taken back before that."
    return UndoRefused(f"{quote(entry.path)} could not be taken back: {reason}. {done} Undo again when that is solved.")


def _choose(entries: list[JournalEntry], last: Last, session_id: str | None) -> list[JournalEntry]:
    mine = [entry for entry in entries if session_id is None or entry.origin.session_id == session_id]
    if not mine:
        return []
    newest = mine[-1].origin

    def same(entry: JournalEntry) -> bool:
        origin = entry.origin
        if origin.session_id != newest.session_id:
            return False
        if last == "session":
            return True
        if last == "turn" and newest.turn_id:
            return origin.turn_id == newest.turn_id
        return (origin.turn_id, origin.call_id, origin.run) == (newest.turn_id, newest.call_id, newest.run)

    return [entry for entry in reversed(mine) if same(entry)]


def check(
    workspace: Workspace, journal: OpenJournal, chosen: list[JournalEntry], aliases: dict[Key, Key]
) -> tuple[list[tuple[JournalEntry, bool]], list[str]]:
    """Return the entries, newest first, with whether each was made, and the files that cannot be taken back."""
    expected: dict[str, Key | None] = {}
    steps: list[tuple[JournalEntry, bool]] = []
    changed: list[str] = []
    for entry in chosen:
        if entry.path not in expected:
            expected[entry.path] = _current(workspace, entry, aliases)
        now, before = expected[entry.path], entry.before.key if entry.before else None
        applied = now == (entry.after.key if entry.after else None)
        if not applied and now != before and _is_back_already(workspace, journal, entry):
            now = before
        if not _image_is_whole(journal, entry) if applied else now != before:
            changed.append(entry.path)
        expected[entry.path] = before
        steps.append((entry, applied))
    return steps, list(dict.fromkeys(changed))


def _current(workspace: Workspace, entry: JournalEntry, aliases: dict[Key, Key]) -> Key | None:
    """Return the file's state now, or `_NO_STATE` if its content is not what was recorded."""
    *parents, name = entry.path.split("/")
    try:
        with workspace.directory(tuple(parents)) as directory:
            info = os.stat(name, dir_fd=directory, follow_symlinks=False)
            key = Snapshot.of(info).key
            key = aliases.get(key, key)
            after = entry.after
            if after is None or key != after.key or after.digest is None or not stat.S_ISREG(info.st_mode):
                return key
            return key if _digest_of(name, directory) == after.digest else _NO_STATE
    except FileNotFoundError:
        return None
    except OSError:  # a directory became a file or a link
        return _NO_STATE


def _digest_of(name: str, directory: int) -> str | None:
    """Return the hash of a file in an open directory; None if it is too large."""
    fd = os.open(name, _READ, dir_fd=directory)
    try:
        return digest_file(fd, os.fstat(fd))
    finally:
        os.close(fd)


def _is_back_already(workspace: Workspace, journal: OpenJournal, entry: JournalEntry) -> bool:
    """Whether the file is a copy of its earlier content: an undo restored it but could not record that."""
    if entry.before is None:
        return False
    parts = tuple(entry.path.split("/"))
    images, image = journal.image(entry)
    with ExitStack() as opened:
        try:
            directory = opened.enter_context(workspace.directory(parts[:-1]))
            file = os.open(parts[-1], _READ, dir_fd=directory)
            opened.callback(os.close, file)
            earlier = os.open(image, _READ, dir_fd=images)
            opened.callback(os.close, earlier)
        except OSError:
            return False
        info = os.fstat(file)
        if (info.st_size, info.st_mtime_ns) != (entry.before.size, entry.before.mtime_ns):
            return False
        return _same_bytes(file, earlier, info.st_size)


def _same_bytes(one: int, other: int, size: int) -> bool:
    return all(
        os.pread(one, _BLOCK, offset) == os.pread(other, _BLOCK, offset) for offset in range(0, size + 1, _BLOCK)
    )


def _image_is_whole(journal: OpenJournal, entry: JournalEntry) -> bool:
    if entry.before is None:
        return True
    directory, name = journal.image(entry)
    try:
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (info.st_size, info.st_mtime_ns) == (entry.before.size, entry.before.mtime_ns)


def take_back(workspace: Workspace, journal: OpenJournal, entry: JournalEntry, *, applied: bool) -> Undone:
    """Undo one write and record that. With `applied=False` the write did not happen, and it is only recorded."""
    parts = tuple(entry.path.split("/"))
    restored: Snapshot | None = None
    action: Literal["restored", "removed", "unchanged"] = "unchanged"
    if applied:
        with workspace.directory(parts[:-1]) as directory:
            if entry.before is None:
                os.unlink(parts[-1], dir_fd=directory)
                action = "removed"
            else:
                restored = _restore(journal, entry, directory, parts[-1])
                action = "restored"
            os.fsync(directory)
    if entry.before is None:
        _remove_made(workspace, entry)
    journal.record_undone(entry, restored)
    return Undone(path=entry.path, action=action)


def _restore(journal: OpenJournal, entry: JournalEntry, directory: int, name: str) -> Snapshot:
    images, image = journal.image(entry)
    temporary = f"{TEMPORARY}{entry.id}"
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=directory)
    try:
        os.link(image, temporary, src_dir_fd=images, dst_dir_fd=directory, follow_symlinks=False)
    except OSError:  # another device, or hard links are not supported or not allowed here
        copy_file(images, image, directory, temporary)
    assert entry.before is not None
    _restore_owner(directory, temporary, name, stat.S_IMODE(entry.before.mode))
    info = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    return Snapshot.of(info)


def _restore_owner(directory: int, restored: str, name: str, mode: int) -> None:
    """Give a copied image its earlier mode and the file's owner."""
    info = os.stat(restored, dir_fd=directory, follow_symlinks=False)
    with suppress(PermissionError, FileNotFoundError):  # a removed file has no owner any more
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if (info.st_uid, info.st_gid) != (now.st_uid, now.st_gid):
            os.chown(restored, now.st_uid, now.st_gid, dir_fd=directory, follow_symlinks=False)
    if stat.S_IMODE(info.st_mode) != mode:
        os.chmod(restored, mode, dir_fd=directory)


def _remove_made(workspace: Workspace, entry: JournalEntry) -> None:
    for path in reversed(entry.made):
        parts = tuple(path.split("/"))
        with suppress(OSError), workspace.directory(parts[:-1]) as directory:  # in use by others: leave it
            os.rmdir(parts[-1], dir_fd=directory)
