"""Stores output files: private files with unique names, created beneath the root and removed when old.

A session's output files are in a directory that only this session sees. The output directory has a link to each; see
`session_view`.

Every step is relative to a descriptor, and no component may be a link. A directory that was replaced with a link is
refused.
"""

import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import BinaryIO

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.system import O_CLOEXEC, O_NOFOLLOW
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.output_directory import DIRECTORY, OutputDirectory
from toolgate.workspace.outputs import OUTPUTS, is_output_name
from toolgate.workspace.root import Workspace
from toolgate.workspace.threads import Stop

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME = 64
_SWEEP_EVERY = 3600.0
_DAY = 86_400.0
_CHUNK = 1 << 22
_IGNORE = ".gitignore"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC


def file_stem(label: str, now: float) -> str:
    """Return `tool_YYYYMMDD_HHMMSS_label` in UTC. Unsafe characters in `label` become `_`."""
    safe = _UNSAFE.sub("_", label)[:_MAX_NAME].strip("_") or "tool"
    return f"tool_{datetime.fromtimestamp(now, UTC):%Y%m%d_%H%M%S}_{safe}"


class OutputStore:
    """Stores files in one directory beneath the root for some days.

    Raises `ToolError` if the directory cannot be used. Safe to use from several threads.
    """

    def __init__(self, workspace: Workspace, directory: str, retention_days: int) -> None:
        self._workspace = workspace
        self._directory = directory
        self._retention = retention_days * _DAY
        self._swept: float | None = None
        self._lock = threading.Lock()

    @contextmanager
    def create(self, label: str, now: float) -> Iterator[tuple[str, BinaryIO]]:
        """Create a file (mode 0600) and yield its path relative to the root. An exception inside removes the file."""
        with self._opened(now) as directory, _new_file(directory, file_stem(label, now), ".json") as (name, file):
            yield f"{directory.path}/{name}", file

    def add_file(self, label: str, now: float, source: str, stop: Stop | None = None) -> str:
        """Store a private file of the runtime unchanged, under a name ending in `.log`; return its path.

        On the same file system nothing is copied. The oldest such files are removed to make space.
        """
        try:
            origin = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise from_os_error(error, label) from None
        try:
            info = os.fstat(origin)
            if not stat.S_ISREG(info.st_mode):
                raise ToolError(
                    ErrorCode.EXECUTION_ERROR, f"The output of {quote(label)} was replaced.", "Run it again."
                )
            with self._opened(now) as directory:
                directory.make_room(info.st_size)
                stem = file_stem(label, now)
                name = _linked(directory, stem, source, info) or _copied(directory, stem, origin, stop or Stop())
                return f"{directory.path}/{name}"
        finally:
            os.close(origin)

    @contextmanager
    def _opened(self, now: float) -> Iterator[OutputDirectory]:
        """Open the directory and remove old files."""
        own, opened = self._workspace.own_outputs, ExitStack()
        path = own.shown if own is not None else self._workspace.relative(self._directory)
        try:
            shown = self._open(path, opened)
            _ignore_itself(shown)
            directory = OutputDirectory(path=path, fd=shown)
            if own is not None:
                everybody = self._open(OUTPUTS, opened)
                _ignore(everybody)
                lead = "../" * (path.count("/") + 1) + own.stored
                stored = self._open(own.stored, opened)
                directory = OutputDirectory(path=path, fd=stored, shown=shown, lead=lead, everybody=everybody)
        except NotADirectoryError:
            opened.close()
            raise ToolError(
                ErrorCode.ACCESS_DENIED,
                f"{quote(self._directory)} is a link or a file where a directory should be.",
                "Ask the user to remove it, or to set TOOL_OUTPUT_DIR to another directory.",
            ) from None
        except OSError as error:
            opened.close()
            raise from_os_error(error, self._directory) from None
        with opened:
            try:
                self._sweep(directory, now)
                yield directory
            except OSError as error:
                raise from_os_error(error, self._directory) from None

    def _open(self, directory: str, opened: ExitStack) -> int:
        """Open a directory until `opened` is closed. Missing parents are created as private directories."""
        fd = self._workspace.open_dir(".")
        for name in directory.split("/"):
            try:
                child = _enter(name, fd)
            finally:
                os.close(fd)
            fd = child
        opened.callback(os.close, fd)
        return fd

    def _sweep(self, directory: OutputDirectory, now: float) -> None:
        """Remove old output files, at most once per hour."""
        with self._lock:
            if self._swept is not None and abs(now - self._swept) < _SWEEP_EVERY:
                return
            self._swept = now
        directory.remove_older(now - self._retention)


def _enter(name: str, parent: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    return os.open(name, DIRECTORY, dir_fd=parent)


def _ignore_itself(fd: int) -> None:
    """Hide the directory from git, unless it contains other files."""
    if all(is_output_name(name) for name in os.listdir(fd)):
        _ignore(fd)


def _ignore(fd: int) -> None:
    with suppress(FileExistsError):
        ignore = os.open(_IGNORE, _CREATE, 0o600, dir_fd=fd)
        try:
            os.write(ignore, b"*\n")
        finally:
            os.close(ignore)


@contextmanager
def _new_file(directory: OutputDirectory, stem: str, suffix: str) -> Iterator[tuple[str, BinaryIO]]:
    name, fd = directory.take_name(stem, suffix, lambda name: os.open(name, _CREATE, 0o600, dir_fd=directory.fd))
    try:
        with os.fdopen(fd, "wb", buffering=1 << 17) as file:
            os.fchmod(fd, 0o600)
            yield name, file
    except BaseException:
        directory.discard(name)
        raise


def _linked(directory: OutputDirectory, stem: str, source: str, expected: os.stat_result) -> str | None:
    """Store a hard link to `source` and return its name; None if there cannot be one."""
    try:
        name, _ = directory.take_name(
            stem, ".log", lambda name: os.link(source, name, dst_dir_fd=directory.fd, follow_symlinks=False)
        )
    except FileExistsError:
        raise
    except OSError:  # another file system, or one without links
        return None
    info = os.stat(name, dir_fd=directory.fd, follow_symlinks=False)
    if (info.st_dev, info.st_ino) == (expected.st_dev, expected.st_ino) and info.st_mode & 0o777 == 0o600:
        return name
    directory.discard(name)
    return None


def _copied(directory: OutputDirectory, stem: str, origin: int, stop: Stop) -> str:
    with _new_file(directory, stem, ".log") as (name, file):
        while os.sendfile(file.fileno(), origin, None, _CHUNK):
            stop.check()
    return name
