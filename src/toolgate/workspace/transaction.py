"""Changes of several files as one: all are made or none, and one undo takes all of them back.

Every new content is complete and on disk before the journal records all changes at once, and only then do the files
change. If a change fails, those before it are taken back. If the process is killed among them, undo takes them back.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.journal import OpenJournal
from toolgate.workspace.journal_entries import JournalEntry, Origin, Snapshot, Write
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.parents import make_parents, remove_empty, sweep_once
from toolgate.workspace.root import Workspace
from toolgate.workspace.target import Target, protected_places, resolve_again
from toolgate.workspace.threads import Stop
from toolgate.workspace.write import Change, StagedChange, Written, conflict, flush, open_as_planned, require_writable


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A file that will be removed, planned for a state of it."""

    target: Target
    before: str


def commit_all(
    stop: Stop, workspace: Workspace, changes: Sequence[Change | Removal], origin: Origin
) -> list[Written | None]:
    """Make all changes, or raise and leave everything as it was. The result has None for each removed file."""
    made: list[str] = []
    with ExitStack() as held:
        try:
            staging = _Staging(workspace, held, made, stop)
            staged = [staging.stage(change) for change in changes]
            _sync(staged, stop)
            with workspace.journal.open(stop) as journal:
                workspace.journal.prune_sometimes(journal)
                writes = [one.look_again() for one in staged]
                stop.check()
                entries = journal.record(origin, writes)
                written = _publish(workspace, journal, staged, entries)
                for directory, typed in staging.directories.values():
                    flush(directory, typed)
            return written
        except BaseException:
            remove_empty(workspace, made)
            raise


def _sync(staged: Sequence["StagedChange | _StagedRemoval"], stop: Stop) -> None:
    """Have every new content on disk. All of them are begun first: then the disk confirms them together."""
    written = [one for one in staged if isinstance(one, StagedChange)]
    try:
        for one in written:
            one.start_sync()
        for one in written:
            _ = one.digest  # it is kept; the disk writes meanwhile
        for one in written:
            one.sync(stop)
    except OSError as error:
        raise from_os_error(error, one.typed) from None


class _Staging:
    """Prepares changes. It opens each directory once; `held` closes what is opened."""

    def __init__(self, workspace: Workspace, held: ExitStack, made: list[str], stop: Stop) -> None:
        self.directories: dict[tuple[str, ...], tuple[int, str]] = {}
        """Descriptor of each directory that changes, and a path in it as it was typed."""
        self._workspace = workspace
        self._held = held
        self._protected = protected_places(workspace)
        self._made = made
        self._stop = stop

    def stage(self, change: Change | Removal) -> "StagedChange | _StagedRemoval":
        """Check a change, and write its new content under no name."""
        typed = change.target.typed
        target = resolve_again(self._workspace, change.target, self._protected)
        if target is None:
            raise conflict(typed)
        try:
            made = make_parents(self._workspace, target) if isinstance(change, Change) else ()
            self._made += made
            directory = self._directory(target)
            if isinstance(change, Removal):
                return _StagedRemoval(change, directory)
            return StagedChange(self._workspace, change, directory, made, self._held, self._stop)
        except OSError as error:
            raise from_os_error(error, typed) from None

    def _directory(self, target: Target) -> int:
        parts = target.parts[:-1]
        if parts not in self.directories:
            directory = self._held.enter_context(self._workspace.directory(parts))
            sweep_once(self._workspace, directory)
            self.directories[parts] = directory, target.typed
        return self.directories[parts][0]


class _StagedRemoval:
    """A file that is going to be removed."""

    def __init__(self, removal: Removal, directory: int) -> None:
        self.typed = removal.target.typed
        self._removal = removal
        self._directory = directory
        self._name = removal.target.parts[-1]
        self.look_again()
        require_writable(directory, self._name)

    def look_again(self) -> Write:
        """Return what is going to happen. The file must still have the content that was planned for."""
        removal = self._removal
        source = open_as_planned(self._directory, removal.target, removal.before)
        if source is None:
            raise conflict(self.typed)
        try:
            before = Snapshot.of(os.fstat(source))
        finally:
            os.close(source)
        return Write(path=removal.target.path, before=before, after=None, kept=(self._directory, self._name))

    def publish(self) -> None:
        """Remove the file."""
        os.unlink(self._name, dir_fd=self._directory)


def _publish(
    workspace: Workspace,
    journal: OpenJournal,
    staged: Sequence[StagedChange | _StagedRemoval],
    entries: Sequence[JournalEntry],
) -> list[Written | None]:
    written: list[Written | None] = []
    for one in staged:
        try:
            written.append(one.publish())
        except BaseException as error:
            _take_back(workspace, journal, entries, len(written))
            if isinstance(error, OSError):
                raise from_os_error(error, one.typed) from None
            raise
    return written


def _take_back(workspace: Workspace, journal: OpenJournal, entries: Sequence[JournalEntry], applied: int) -> None:
    """Undo the changes that were made before one failed, newest first."""
    from toolgate.workspace.undo import take_back

    for position in range(len(entries) - 1, -1, -1):
        entry = entries[position]
        try:
            take_back(workspace, journal, entry, applied=position < applied)
        except OSError as error:
            logger("workspace").error("change_not_taken_back", error=os.strerror(error.errno or 0))
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"Only a part of the changes could be made, and {quote(entry.path)} could not be taken back "
                f"({os.strerror(error.errno or 0)}).",
                "Ask the user to look at the disk and to run 'toolgate undo', which takes back the rest.",
            ) from None
