"""Undoes chosen writes file by file: a file that somebody else has changed since stays, and the others are restored."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from toolgate.workspace.journal import DIRECTORY, OpenJournal
from toolgate.workspace.journal_entries import JournalEntry, Key
from toolgate.workspace.root import Workspace
from toolgate.workspace.threads import Stop
from toolgate.workspace.undo import check, take_back

CHANGED = "It was changed since, by somebody else or by a later call; nothing of it was taken back."
"""Why a file is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneFiles:
    """What became of each file."""

    restored: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason."""


def undo_files(stop: Stop, workspace: Workspace, wanted: Callable[[JournalEntry], bool]) -> UndoneFiles:
    """Undo the wanted writes that were not undone before, newest first: all of a file, or nothing of it."""
    workspace.require_present()
    outcome = UndoneFiles()
    if workspace.stat(DIRECTORY) is None:
        return outcome
    with workspace.journal.open(stop) as journal:
        entries, aliases = journal.entries()
        by_path: dict[str, list[JournalEntry]] = {}
        for entry in reversed(entries):
            if wanted(entry):
                by_path.setdefault(entry.path, []).append(entry)
        for path, chosen in by_path.items():
            reason = _undo(workspace, journal, chosen, aliases)
            if reason:
                outcome.refused.append((path, reason))
            else:
                outcome.restored.append(path)
    return outcome


def _undo(workspace: Workspace, journal: OpenJournal, chosen: list[JournalEntry], aliases: dict[Key, Key]) -> str:
    """Undo the writes of one file, newest first; returns why not."""
    steps, changed = check(workspace, journal, chosen, aliases)
    if changed:
        return CHANGED
    for entry, applied in steps:
        try:
            take_back(workspace, journal, entry, applied=applied)
        except OSError as error:
            return f"It could not be restored: {os.strerror(error.errno) if error.errno else 'input/output error'}."
    return ""
