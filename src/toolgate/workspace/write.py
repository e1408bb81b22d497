"""Changing a file: the old content or the new one is there at every moment, never a mixture.

The new content goes into an unnamed file in the same directory, which takes over mode, owner and attributes. Under the
journal's lock the old file is looked at once more, the change is recorded with what was there, and only then does the
new file get its name. A file that other names (hard links) share is replaced under this name only.
"""

import errno
import os
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.attributes import take_over
from toolgate.workspace.file_state import ABSENT, digest_of, identity, is_as_planned, is_settled
from toolgate.workspace.journal_entries import Origin, Snapshot, Write
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.parents import make_parents, remove_empty, sweep_once
from toolgate.workspace.pieces import Piece, write_pieces
from toolgate.workspace.root import Workspace
from toolgate.workspace.target import Target, resolve_again
from toolgate.workspace.temporary import Temporary, temporary_in
from toolgate.workspace.threads import Stop

_SYNCED_WITH_RECORD = 4 << 20
"""Largest new content that is synced while the journal's lock is held, together with its record, in bytes."""
_DIGESTED = 1 << 18
"""Largest new content that is remembered by its hash, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file will consist of, planned for a state of it."""

    target: Target
    before: str
    """The state that it was planned for: `absent` or an identity."""
    old: bytes | None = None
    """The content that `before` is the hash of, if it was read: comparing it is faster than hashing the file."""
    pieces: tuple[Piece, ...]
    """New bytes, and spans of the file as it is."""
    moved_from: Target | None = None
    """The file that moves here: spans are of it, and its owner, mode and attributes move along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A change that was made."""

    parts: tuple[str, ...]
    stat: os.stat_result
    digest: str | None
    made: tuple[str, ...]


def conflict(path: str) -> ToolError:
    """Return the error for a file that somebody else has changed."""
    return ToolError(
        ErrorCode.CONFLICT,
        f"{quote(path)} has changed since it was read; nothing was written and the other change is kept.",
        "Read it again with 'read_file' and repeat the call on what is there now.",
    )


def commit(stop: Stop, workspace: Workspace, change: Change, origin: Origin) -> Written:
    """Make the change, or raise and leave everything as it was."""
    typed = change.target.typed
    target = resolve_again(workspace, change.target)
    if target is None:
        raise conflict(typed)
    made: tuple[str, ...] = ()
    try:
        made = make_parents(workspace, target)
        with workspace.directory(target.parts[:-1]) as directory, ExitStack() as held:
            sweep_once(workspace, directory)
            staged = StagedChange(workspace, change, directory, made, held, stop)
            if staged.size > _SYNCED_WITH_RECORD:
                staged.sync(stop)
            else:
                staged.start_sync()
            return _publish(workspace, staged, origin, stop)
    except BaseException as error:
        remove_empty(workspace, made)
        if isinstance(error, OSError):
            raise from_os_error(error, typed) from None
        raise


def _publish(workspace: Workspace, staged: "StagedChange", origin: Origin, stop: Stop) -> Written:
    with workspace.journal.open(stop) as journal:
        workspace.journal.prune_sometimes(journal)
        write = staged.look_again()
        stop.check()
        journal.record(origin, [write], staged.unsynced)
        written = staged.publish()
        flush(staged.directory, staged.typed)
    return written


def flush(directory: int, typed: str) -> None:
    """Have the disk confirm the names in a directory."""
    try:
        os.fsync(directory)
    except OSError as error:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{quote(typed)} was written, but the disk did not confirm it "
            f"({os.strerror(error.errno or errno.EIO)}): it may be lost when the power fails.",
            "Ask the user to look at the disk; the change can be taken back with undo.",
        ) from None


def open_as_planned(directory: int, target: Target, before: str, old: bytes | None = None) -> int | None:
    """Open a file that must have the content that a change was planned for; None if it is to be new."""
    source = open_old(directory, target)
    if source is None:
        if before != ABSENT:
            raise conflict(target.typed)
    elif not is_as_planned(source, before, old):
        os.close(source)
        raise conflict(target.typed)
    return source


def open_old(directory: int, target: Target) -> int | None:
    """Open a file as it is now; None if it does not exist."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(target.parts[-1], flags, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # it was replaced with a link
            raise conflict(target.typed) from None
        raise


def require_writable(directory: int, name: str) -> None:
    """Raise `OSError` unless this user may write the file."""
    if not os.access(name, os.W_OK, dir_fd=directory, effective_ids=True, follow_symlinks=False):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


class StagedChange:
    """The new content of one file, complete but without its name. `sync` waits for the disk, `held` closes files."""

    def __init__(
        self,
        workspace: Workspace,
        change: Change,
        directory: int,
        made: tuple[str, ...],
        held: ExitStack,
        stop: Stop,
    ) -> None:
        self.directory = directory
        self.typed = change.target.typed
        self.made = made
        self._change = change
        self._name = change.target.parts[-1]
        self._replaces = False
        source = open_as_planned(directory, change.target, change.before, change.old)
        if source is not None:
            require_writable(directory, self._name)
        elif change.moved_from is not None:
            source = workspace.open_file(change.moved_from.path).detach()
        try:
            old = None if source is None else os.fstat(source)
            self._seen = old if old is not None and is_settled(old) else None
            self._temporary: Temporary = held.enter_context(temporary_in(directory, 0o666 if old is None else 0o600))
            self._fill(source, old, stop)
        finally:
            if source is not None:
                os.close(source)

    def _fill(self, source: int | None, old: os.stat_result | None, stop: Stop) -> None:
        fd = self._temporary.fd
        write_pieces(fd, source, self._change.pieces, stop)
        if source is not None and old is not None:
            take_over(fd, source, old, self.typed)
        self.size = os.fstat(fd).st_size
        self.unsynced: tuple[int, ...] = (fd,)
        """What has to be on disk before the file gets its name."""
        stop.check()

    def start_sync(self) -> None:
        """Have the disk begin to write, so that it works on several files at once."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._temporary.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self, stop: Stop) -> None:
        """Wait until the new content is on disk."""
        os.fsync(self._temporary.fd)
        self.unsynced = ()
        stop.check()

    def look_again(self) -> Write:
        """Return what is going to happen. The file must still have the content that was planned for.

        A settled file to which nothing happened since it was staged is not read again.
        """
        change = self._change
        source = open_old(self.directory, change.target)
        if source is None and change.before != ABSENT:
            raise conflict(self.typed)
        before = None if source is None else self._checked(source)
        self._replaces = before is not None
        return Write(
            path=change.target.path,
            before=before,
            after=Snapshot.of(os.fstat(self._temporary.fd), self.digest),
            made=self.made,
            kept=None if before is None else (self.directory, self._name),
        )

    def _checked(self, source: int) -> Snapshot:
        """Return the state of the old file, and close it. The new one takes over its owner, mode and attributes."""
        try:
            old = os.fstat(source)
            if self._seen is None or identity(self._seen) != identity(old):
                if not is_as_planned(source, self._change.before, self._change.old):
                    raise conflict(self.typed)
                take_over(self._temporary.fd, source, old, self.typed)
        finally:
            os.close(source)
        return Snapshot.of(old)

    def publish(self) -> Written:
        """Give the file its name."""
        if self._replaces:
            self._temporary.replace(self._name)
        else:
            try:
                self._temporary.create(self._name)
            except FileExistsError:
                raise conflict(self.typed) from None
        info = os.fstat(self._temporary.fd)
        return Written(parts=self._change.target.parts, stat=info, digest=self.digest, made=self.made)

    @cached_property
    def digest(self) -> str | None:
        """The hash of the new content; None if it is large."""
        pieces = self._change.pieces
        if len(pieces) == 1 and isinstance(pieces[0], bytes) and len(pieces[0]) <= _DIGESTED:
            return digest_of(pieces[0])
        return None
