"""What sessions have changed in the project's files, from the journal: the difference of each file and each call."""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from toolgate.errors import ToolError
from toolgate.system import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK
from toolgate.workspace.diff import Diff
from toolgate.workspace.encoding import SAMPLE, detect
from toolgate.workspace.journal import DIRECTORY, OpenJournal
from toolgate.workspace.journal_entries import JournalEntry
from toolgate.workspace.root import Workspace
from toolgate.workspace.threads import Stop

Kind = Literal["created", "modified", "removed"]
MAX_DIFF = 60_000
"""Characters of one file's difference that are shown."""
_MAX_FILE_BYTES = 4 << 20
"""Bytes of a file that is compared."""
_FLAGS = os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedBy:
    """What one call did to a file."""

    call_id: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that was changed, and how it differs from what was there before."""

    path: str
    kind: Kind
    diff: str
    """Empty if the content is not text, is too large, or is what it was."""
    added: int
    removed: int
    calls: tuple[ChangedBy, ...]


def changed_files(stop: Stop, workspace: Workspace, session_ids: Collection[str]) -> list[ChangedFile]:
    """The files that these sessions have changed and that were not taken back, in the order of their first change."""
    workspace.require_present()
    if workspace.stat(DIRECTORY) is None:
        return []
    with workspace.journal.open(stop) as journal:
        by_path: dict[str, list[JournalEntry]] = {}
        for entry in journal.entries()[0]:
            by_path.setdefault(entry.path, []).append(entry)
        return [
            _changed_file(workspace, journal, entries, session_ids)
            for entries in by_path.values()
            if any(entry.origin.session_id in session_ids for entry in entries)
        ]


def _changed_file(
    workspace: Workspace, journal: OpenJournal, entries: list[JournalEntry], session_ids: Collection[str]
) -> ChangedFile:
    """One file. The content after a write is what the next write has replaced."""
    path = entries[0].path
    now = _content(workspace, path)
    before = [_image(journal, entry) for entry in entries]
    mine = [place for place, entry in enumerate(entries) if entry.origin.session_id in session_ids]
    calls: dict[str, Diff] = {}
    for place in mine:
        after = before[place + 1] if place + 1 < len(entries) else now
        diff = calls.setdefault(entries[place].origin.call_id, Diff(path, 0))
        _compare(diff, before[place], after)
    first = entries[mine[0]]
    whole = Diff(path, MAX_DIFF, created=first.before is None)
    _compare(whole, before[mine[0]], now)
    kind: Kind = "created" if first.before is None else "modified"
    if workspace.stat(path) is None:
        kind = "removed"
    return ChangedFile(
        path=path,
        kind=kind,
        diff=whole.text,
        added=whole.added,
        removed=whole.removed,
        calls=tuple(
            ChangedBy(call_id=call_id, added=diff.added, removed=diff.removed) for call_id, diff in calls.items()
        ),
    )


def _compare(diff: Diff, old: str | None, new: str | None) -> None:
    if old is not None and new is not None:
        diff.compare(old, new)


def _content(workspace: Workspace, path: str) -> str | None:
    """The text of a file as it is; empty if it is gone, None if it cannot be compared."""
    if workspace.stat(path) is None:
        return ""
    with suppress(ToolError), workspace.open_file(path) as opened:
        return _text(opened.read(_MAX_FILE_BYTES + 1, 0), path)
    return None


def _image(journal: OpenJournal, entry: JournalEntry) -> str | None:
    """The text that a write has replaced; empty if there was no file, None if it cannot be compared."""
    if entry.before is None:
        return ""
    directory, name = journal.image(entry)
    try:
        fd = os.open(name, _FLAGS, dir_fd=directory)
    except OSError:
        return None
    try:
        return _text(os.pread(fd, _MAX_FILE_BYTES + 1, 0), entry.path)
    except ToolError:
        return None
    finally:
        os.close(fd)


def _text(data: bytes, path: str) -> str | None:
    if len(data) > _MAX_FILE_BYTES:
        return None
    encoding = detect(data[:SAMPLE], path, whole=len(data) <= SAMPLE)
    return data[len(encoding.bom) :].decode(encoding.codec, "replace")
