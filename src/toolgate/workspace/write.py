"""Changing a file: the old content or the new one is there at every moment, never a mixture.

The new content goes into an unnamed file in the same directory, which takes over mode, owner and attributes. Under the
journal's lock the old file is looked at once more, the change is recorded with what was there, and only then does the
new file get its name. A file that other names (hard links) share is replaced under this name only.
"""

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import protect
from toolgate.workspace.file_state import ABSENT, digest_of, identity, is_settled, state_of_file
from toolgate.workspace.journal_entries import Origin, Snapshot
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.pieces import Piece, write_pieces
from toolgate.workspace.root import Workspace
from toolgate.workspace.target import Target, target_of
from toolgate.workspace.temporary import Temporary, sweep, temporary_in
from toolgate.workspace.threads import Stop

_DIGESTED = 1 << 18
"""Largest new content that is remembered by its hash, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file will consist of, planned for a state of it."""

    target: Target
    before: str
    """The state that it was planned for: `absent` or an identity."""
    pieces: tuple[Piece, ...]
    """New bytes, and spans of the file as it is."""


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
    target = target_of(workspace, typed)
    if target.parts != change.target.parts:
        raise conflict(typed)
    made: tuple[str, ...] = ()
    try:
        made = _make_parents(workspace, target)
        with workspace.directory(target.parts[:-1]) as directory:
            _sweep_once(workspace, directory)
            return _Commit(workspace, change, directory, made, origin).run(stop)
    except BaseException as error:
        _remove_empty(workspace, made)
        if isinstance(error, OSError):
            raise from_os_error(error, typed) from None
        raise


class _Commit:
    """One change in an opened directory."""

    def __init__(
        self, workspace: Workspace, change: Change, directory: int, made: tuple[str, ...], origin: Origin
    ) -> None:
        self._workspace = workspace
        self._change = change
        self._directory = directory
        self._name = change.target.parts[-1]
        self._made = made
        self._origin = origin

    def run(self, stop: Stop) -> Written:
        source = self._open_old()
        try:
            self._require_as_planned(source)
            old = None if source is None else os.fstat(source)
            if old is not None:
                self._require_writable()
            settled = old is not None and is_settled(old)
            with temporary_in(self._directory, 0o666 if old is None else 0o600) as temporary:
                write_pieces(temporary.fd, source, self._change.pieces, stop)
                if old is not None and source is not None:
                    _take_over(temporary.fd, source, old, self._change.target.typed)
                os.fsync(temporary.fd)
                stop.check()
                return self._publish(temporary, old if settled else None, stop)
        finally:
            if source is not None:
                os.close(source)

    def _open_old(self) -> int | None:
        """Open the file as it is now; None if it does not exist."""
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(self._name, flags, dir_fd=self._directory)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # it was replaced with a link
                raise conflict(self._change.target.typed) from None
            raise

    def _require_as_planned(self, source: int | None) -> None:
        """Decide by the content whether somebody else has changed the file since the change was planned."""
        now = ABSENT if source is None else state_of_file(source, os.fstat(source))
        if now != self._change.before:
            raise conflict(self._change.target.typed)

    def _require_writable(self) -> None:
        if not os.access(self._name, os.W_OK, dir_fd=self._directory, effective_ids=True, follow_symlinks=False):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    def _publish(self, temporary: Temporary, seen: os.stat_result | None, stop: Stop) -> Written:
        digest = self._digest()
        target = self._change.target
        with self._workspace.journal.open(stop) as journal:
            self._workspace.journal.prune_sometimes(journal)
            old = self._look_again(temporary, seen)
            after = Snapshot.of(os.fstat(temporary.fd), digest)
            stop.check()
            kept = None if old is None else (self._directory, self._name)
            before = None if old is None else Snapshot.of(old)
            journal.record(self._origin, target.path, before, after, self._made, kept)
            self._name_it(temporary, new=old is None)
            info = os.fstat(temporary.fd)
            self._flush()
        return Written(parts=target.parts, stat=info, digest=digest, made=self._made)

    def _look_again(self, temporary: Temporary, seen: os.stat_result | None) -> os.stat_result | None:
        """The file that is going to be replaced, which must still have the content that was planned for.

        `seen` is a settled file as it was found before: if nothing happened to it since, it is not read again.
        """
        source = self._open_old()
        if source is None:
            self._require_as_planned(source)
            return None
        try:
            old = os.fstat(source)
            if seen is None or identity(seen) != identity(old):
                self._require_as_planned(source)
                _take_over(temporary.fd, source, old, self._change.target.typed)
            return old
        finally:
            os.close(source)

    def _flush(self) -> None:
        try:
            os.fsync(self._directory)
        except OSError as error:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"{quote(self._change.target.typed)} was written, but the disk did not confirm it "
                f"({os.strerror(error.errno or errno.EIO)}): it may be lost when the power fails.",
                "Ask the user to look at the disk; the change can be taken back with undo.",
            ) from None

    def _name_it(self, temporary: Temporary, *, new: bool) -> None:
        if not new:
            temporary.replace(self._name)
            return
        try:
            temporary.create(self._name)
        except FileExistsError:
            raise conflict(self._change.target.typed) from None

    def _digest(self) -> str | None:
        pieces = self._change.pieces
        if len(pieces) == 1 and isinstance(pieces[0], bytes) and len(pieces[0]) <= _DIGESTED:
            return digest_of(pieces[0])
        return None


def _take_over(fd: int, source: int, old: os.stat_result, path: str) -> None:
    """Give the new file the owner, mode and attributes of the old one."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except PermissionError:
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{quote(path)} belongs to another user or group, which writing it would change.",
                "Ask the user to change the file or its owner.",
            ) from None
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
    _copy_attributes(fd, source)


def _copy_attributes(fd: int, source: int) -> None:
    """Copy what users set; `security.*` belongs to the content or to the system's own rules."""
    try:
        names = os.listxattr(source)
    except OSError:  # the file system does not support them
        return
    for name in names:
        if name.startswith(("user.", "system.posix_acl_access")):
            with suppress(OSError):  # the file system may refuse some, and the content matters more
                os.setxattr(fd, name, os.getxattr(source, name))


def _make_parents(workspace: Workspace, target: Target) -> tuple[str, ...]:
    """Create the missing directories, each beneath the descriptor of its parent."""
    if target.missing < 2:
        return ()
    depth = len(target.parts) - target.missing
    made: list[str] = []
    try:
        for length in range(depth, len(target.parts) - 1):
            if protect.is_protected(target.parts[: length + 1]):
                raise protect.refuse_protected(target.typed)
            with workspace.directory(target.parts[:length]) as directory:
                try:
                    os.mkdir(target.parts[length], 0o777, dir_fd=directory)
                    made.append("/".join(target.parts[: length + 1]))
                    os.fsync(directory)
                except FileExistsError:
                    continue
    except BaseException:
        _remove_empty(workspace, made)
        raise
    return tuple(made)


def _remove_empty(workspace: Workspace, made: Sequence[str]) -> None:
    """Remove directories that were created in vain. One that is in use stays."""
    for path in reversed(made):
        parts = tuple(path.split("/"))
        with suppress(OSError), workspace.directory(parts[:-1]) as directory:
            os.rmdir(parts[-1], dir_fd=directory)


def _sweep_once(workspace: Workspace, directory: int) -> None:
    info = os.fstat(directory)
    key = (info.st_dev, info.st_ino)
    if key not in workspace.swept:
        workspace.swept.add(key)
        sweep(directory)
