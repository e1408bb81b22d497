"""`Workspace`: the project root, opened once. All files are opened beneath it."""

import errno
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.system import O_CLOEXEC, O_DIRECTORY, O_NOCTTY, O_NONBLOCK, require_linux
from toolgate.workspace import paths, presence, protect
from toolgate.workspace.confine import Confinement, Place, Walk, choose_opener
from toolgate.workspace.file_state import ABSENT, stamp, state_of_file
from toolgate.workspace.lines import LineIndexes
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.own_names import OwnFiles

if TYPE_CHECKING:
    from toolgate.workspace.extra_directories import ExtraDirectory
    from toolgate.workspace.file_guard import PathRules
    from toolgate.workspace.journal import Journal
    from toolgate.workspace.outputs import OwnOutputs

_READ = os.O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
_DIRECTORY = os.O_RDONLY | O_DIRECTORY | O_CLOEXEC


class OpenedFile:
    """A regular file, open for reading. A context manager that closes it."""

    __slots__ = ("fd", "path", "stat")

    def __init__(self, fd: int, path: str, stat: os.stat_result) -> None:
        self.fd = fd
        self.path = path
        """Relative to the root."""
        self.stat = stat

    def __enter__(self) -> "OpenedFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset."""
        return os.pread(self.fd, length, offset)

    def read_cached(self, length: int, offset: int) -> bytes:
        """Read bytes at an offset without waiting for the disk. Raises `BlockingIOError` if some are not in memory."""
        length = max(0, min(length, self.stat.st_size - offset))
        buffer = bytearray(length)
        try:
            count = os.preadv(self.fd, [buffer], offset, os.RWF_NOWAIT)
        except OSError as error:  # also from file systems that do not support it
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
        if count < length:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return bytes(buffer)

    def detach(self) -> int:
        """Return the descriptor, which the caller closes from now on."""
        fd, self.fd = self.fd, -1
        return fd

    def close(self) -> None:
        """Close the descriptor; closing twice is harmless."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class Workspace:
    """The confined project root.

    The directory is opened once: changing a link to it later has no effect. Every path is relative to it or an absolute
    path inside it. Errors are `ToolError`s that quote the path as it was typed.
    """

    own_outputs: "OwnOutputs | None" = None
    """Where the session's output files are; None if this is not the view of a session."""

    def __init__(self, root: str | os.PathLike[str], *, confinement: Confinement = "auto") -> None:
        require_linux("Working on files")
        given = os.path.abspath(os.fspath(root))
        fd = os.open(given, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._close: Callable[[], object] = weakref.finalize(self, os.close, fd)
        self._fd = fd
        self.closed = False
        """Whether it is closed."""
        self.confinement, self._open = choose_opener(confinement, fd)
        real = os.path.realpath(given)
        self.root = Path(real)
        """For the operator. Never part of a result."""
        self._names = (real, given) if given != real else (real,)
        self._mounted_at = presence.mount_point(real)
        self.line_indexes = LineIndexes()
        """Line indexes of the files that were read."""
        self.swept: set[tuple[int, int]] = set()
        """Directories in which the leftovers of killed writers were removed."""
        self.programs_root = real
        """The project root: no program that lies in it is run outside the sandbox."""
        self.prefix: tuple[str, ...] = ()
        """Components that every path in normal form begins with."""
        self.extra: tuple[ExtraDirectory, ...] = ()
        """Further directories that are only read (`extra_directories.open_extra`)."""
        self.extra_paths: tuple[str, ...] = ()
        """Those directories, as the operator named them."""
        self.generation = 0
        """How often the root was deleted and opened again."""
        self.own_paths: set[str] = set()
        """The runtime's own files and directories in the root (`protect_own`), in normal form."""
        self.own_files = OwnFiles()
        """Those that the tools do not read, either, wherever they are."""
        self.path_rules: Callable[[], PathRules] | None = None
        """What the policy says about reading paths, for texts of the project that reach a model without a call."""

    def require_present(self) -> None:
        """Raise `ToolError` if the root is gone. Open it again if it has come back at the same path."""
        if presence.reopen_if_replaced(self.fd, self._names[0], self._mounted_at, self._open):
            self.generation += 1
            self.line_indexes = LineIndexes()
            self.swept.clear()
            self.__dict__.pop("journal", None)

    @cached_property
    def journal(self) -> "Journal":
        """The journal of writes beneath this root."""
        from toolgate.workspace.journal import Journal

        return Journal(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the root. Nothing can be opened afterwards."""
        self.closed = True
        self._fd = -1  # the number may be reused for another directory
        self._close()

    @property
    def fd(self) -> int:
        """The root's descriptor (`O_PATH`), only for this room."""
        if self._fd < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._fd

    def relative(self, path: str, cwd: str = ".") -> str:
        """Return the normal POSIX path relative to the root (`.` is the root). Its last component may be a link.

        Only the text decides, except for `..` after an existing path: that is the real parent.
        """
        base = cwd if cwd == "." else paths.normal(cwd, self._names)
        if ".." in path and (climbed := self._climb(path, base)):
            return climbed
        return paths.normal(path, self._names, base)

    def _climb(self, path: str, cwd: str) -> str:
        names = paths.climbing(path, self._names, cwd)
        if names is None or ".." not in names:
            return ""
        after_last_parent = len(names) - names[::-1].index("..")
        try:
            with Walk(self.fd) as walk:
                place = walk.to(names[:after_last_parent])
        except (FileNotFoundError, NotADirectoryError):  # it does not exist: the text decides
            return ""
        except OSError as error:
            raise from_os_error(error, path) from None
        return "/".join([*place.parts, *names[after_last_parent:]]) or "."

    def physical(self, relative: str) -> str:
        """Return the real location of a path beneath the root. It only differs in a session's view."""
        return relative

    def for_session(self, directory: str, owner: str) -> "Workspace":
        """Return the view of a session and its sub-agents: `directory` shows only the output files of this session."""
        from toolgate.workspace.session_view import SessionWorkspace

        return SessionWorkspace(self, directory, owner)

    def is_file(self, path: str) -> bool:
        """Whether a path leads to a file beneath the root."""
        try:
            info = self.stat(path)
        except ToolError:
            return False
        return info is not None and not stat.S_ISDIR(info.st_mode)

    def open_dir(self, path: str = ".", cwd: str = ".") -> int:
        """Open a directory beneath the root for reading. The caller closes it."""
        relative = self.relative(path, cwd)
        try:
            return self._open(self.fd, relative, _DIRECTORY)
        except NotADirectoryError as error:
            if self._kind(relative) in (None, "directory"):
                raise from_os_error(error, path) from None
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"{quote(path)} is not a directory.",
                "Name a directory, or read it with 'read_file'.",
            ) from None
        except OSError as error:
            raise from_os_error(error, path) from None

    def open_file(self, path: str, cwd: str = ".", *, wait: bool = True) -> OpenedFile:
        """Open a regular file for reading, without waiting for a FIFO or touching a device.

        With `wait=False` it does not wait for the disk either: it raises `BlockingIOError` if that is necessary.
        """
        relative = self.relative(path, cwd)
        try:
            look = self._open(self.fd, relative, os.O_PATH, wait=wait)
            try:
                require_regular(os.fstat(look), path)
            finally:
                os.close(look)
            fd = self._open(self.fd, relative, _READ, wait=wait)
        except OSError as error:
            if not wait and isinstance(error, BlockingIOError):
                raise
            raise from_os_error(error, path) from None
        info = os.fstat(fd)
        try:
            require_regular(info, path)
        except ToolError:
            os.close(fd)
            raise
        return OpenedFile(fd, relative, info)

    def read_text(self, path: str) -> str:
        """Return the text of a whole file. Raises `ToolError` if it is missing, binary or too large."""
        from toolgate.workspace.text_files import read_text

        return read_text(self, path)

    def write_text(self, path: str, text: str) -> None:
        """Create a file or replace all of one, atomically and journalled: `toolgate undo` takes it back.

        It asks nobody: a tool that uses it declares `requires_permission`, or the program means it.
        """
        from toolgate.workspace.text_files import write_text

        write_text(self, path, text)

    def stat(self, path: str) -> os.stat_result | None:
        """Return the status of the file that `path` leads to; None if it does not exist."""
        try:
            fd = self._open(self.fd, self.relative(path), os.O_PATH)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise from_os_error(error, path) from None
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def for_path(self, path: str) -> "Workspace":
        """Return the workspace of a path: the extra directory that holds it, else this one.

        Raises `ToolError` if its directory is gone.
        """
        found: Workspace = next((directory for directory in self.extra if directory.holds(path)), self)
        found.require_present()
        return found

    def state(self, path: str) -> str:
        """Return `absent`, or text that changes whenever the file's content does; for `Plan.preconditions`."""
        info = self.stat(path)
        if info is None:
            return ABSENT
        if not stat.S_ISREG(info.st_mode):
            return stamp(info)
        try:
            with self.open_file(path) as opened:
                return state_of_file(opened.fd, opened.stat)
        except ToolError:  # it is not readable, or no longer: no plan was made for that
            return stamp(info)

    def is_protected(self, relative: str) -> bool:
        """Whether the tools may not write this path (normal form) or anything below it."""
        if protect.is_protected([] if relative == "." else relative.split("/")):
            return True
        return any(f"{relative}/".casefold().startswith(f"{own}/".casefold()) for own in self.own_paths)

    def protect_own(self, paths: Iterable[str], unread: Iterable[str] = ()) -> None:
        """Keep the tools from writing these absolute paths and what lies below them, as far as they are in the root.

        They do not read `unread`, either, not even by another name.
        """
        self.own_paths |= self._forms_of(paths)
        unread = tuple(unread)
        self.own_files = self.own_files.joined(unread, self._forms_of(unread))

    def is_own_file(self, path: str) -> bool:
        """Whether a path (in normal form) is one of the runtime's own files that nobody is shown, by whatever name."""
        own = self.own_files
        if any(name.matches(path) for name in own.names):
            return True
        if not own.paths or (info := self.stat(path)) is None or info.st_nlink < 2:
            return False
        return (info.st_dev, info.st_ino) in own.linked()

    def _forms_of(self, paths: Iterable[str]) -> set[str]:
        """The forms that absolute paths have beneath the root, as they are written and with links resolved."""
        found = set[str]()
        for path in paths:
            for name in {path, os.path.realpath(path)}:
                with suppress(ToolError):
                    found.add(self.relative(name))
        return found - {"."}

    def locate(self, path: str, cwd: str = ".") -> Place:
        """Return the real location of `path`, with links resolved, existing or not."""
        try:
            with Walk(self.fd) as walk:
                return walk.to(self.relative(path, cwd).split("/"))
        except OSError as error:
            raise from_os_error(error, path) from None

    @contextmanager
    def directory(self, parts: tuple[str, ...]) -> Iterator[int]:
        """A directory by its real components, none of which may be a link; raises `OSError`."""
        fd = self.open_directory(parts)
        try:
            yield fd
        finally:
            os.close(fd)

    def open_directory(self, parts: Sequence[str]) -> int:
        """A directory by its real components, none of which may be a link; the caller closes it. Raises `OSError`."""
        return self._open(self.fd, "/".join(parts) or ".", _DIRECTORY, links=False)

    def _kind(self, relative: str) -> str | None:
        info = self.stat(relative)
        return None if info is None else kind_of(info)


_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFLNK: "link",
}


def kind_of(info: os.stat_result) -> str:
    """What a path is, in one word."""
    return _KINDS.get(stat.S_IFMT(info.st_mode), "special file")


def require_regular(info: os.stat_result, path: str) -> None:
    """Refuse everything but a regular file."""
    if stat.S_ISREG(info.st_mode):
        return
    if stat.S_ISDIR(info.st_mode):
        raise from_os_error(IsADirectoryError(errno.EISDIR, ""), path)
    raise ToolError(
        ErrorCode.INVALID_PARAM,
        f"{quote(path)} is a {kind_of(info)}, not a regular file.",
        "Only regular files can be read and written; choose another path.",
    )
