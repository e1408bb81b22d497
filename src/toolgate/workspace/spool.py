"""The directory for whole outputs: private files with unique names, made beneath the root and removed when old.

Every step is relative to a descriptor, and no component may be a link: a directory that somebody made in its place, as
a link to elsewhere, is refused instead of followed.
"""

import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import BinaryIO, TypeVar

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.root import Workspace
from toolgate.workspace.threads import Stop

T = TypeVar("T")

_OURS = re.compile(r"tool_\d{8}_\d{6}_[A-Za-z0-9_-]+\.(?:json|log)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_MOST_TRIES = 10_000
_SWEEP_EVERY = 3600.0
_DAY = 86_400.0
_MOST_ADOPTED = 1 << 30
"""Bytes of adopted files that are kept at the same time."""
_CHUNK = 1 << 22
_IGNORE = ".gitignore"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def file_stem(label: str, now: float) -> str:
    """`tool_YYYYMMDD_HHMMSS_label` in UTC, where whatever is unsafe in `label` becomes `_`."""
    safe = _UNSAFE.sub("_", label)[:_LONGEST_NAME].strip("_") or "tool"
    return f"tool_{datetime.fromtimestamp(now, UTC):%Y%m%d_%H%M%S}_{safe}"


class Spool:
    """Keeps files in one directory beneath the root for some days.

    Raises `ToolError` where the directory cannot be used. Safe to use from several threads.
    """

    def __init__(self, workspace: Workspace, directory: str, retention_days: int) -> None:
        self._workspace = workspace
        self._directory = directory
        self._retention = retention_days * _DAY
        self._swept: float | None = None
        self._lock = threading.Lock()

    @contextmanager
    def create(self, label: str, now: float) -> Iterator[tuple[str, BinaryIO]]:
        """A new file (mode 0600) and its path relative to the root; an exception inside removes the file again."""
        with self._opened(now) as (directory, fd), _new_file(fd, file_stem(label, now), ".json") as (name, file):
            yield f"{directory}/{name}", file

    def adopt(self, label: str, now: float, source: str, stop: Stop | None = None) -> str:
        """Keep a private file of the runtime's own, as it is, under a name ending in `.log`; its path.

        Where it lies on the same file system no byte is copied. The oldest such files give way to it.
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
            with self._opened(now) as (directory, fd):
                _make_room(fd, info.st_size)
                stem = file_stem(label, now)
                name = _linked(fd, stem, source, info) or _copied(fd, stem, origin, stop or Stop())
                return f"{directory}/{name}"
        finally:
            os.close(origin)

    @contextmanager
    def _opened(self, now: float) -> Iterator[tuple[str, int]]:
        """The directory, swept: its path and its descriptor."""
        directory = self._workspace.relative(self._directory)
        try:
            fd = self._open(self._workspace.physical(directory))
        except NotADirectoryError:
            raise ToolError(
                ErrorCode.ACCESS_DENIED,
                f"{quote(self._directory)} is a link or a file where a directory should be.",
                "Ask the user to remove it, or to set TOOL_OUTPUT_DIR to another directory.",
            ) from None
        except OSError as error:
            raise from_os_error(error, self._directory) from None
        try:
            self._sweep(fd, now)
            yield directory, fd
        except OSError as error:
            raise from_os_error(error, self._directory) from None
        finally:
            os.close(fd)

    def _open(self, directory: str) -> int:
        """The directory's descriptor; what is missing on the way is made, private and ignored by git."""
        fd = self._workspace.open_dir(".")
        for name in directory.split("/"):
            try:
                child = _enter(name, fd)
            finally:
                os.close(fd)
            fd = child
        try:
            _ignore_itself(fd)
        except OSError:
            os.close(fd)
            raise
        return fd

    def _sweep(self, fd: int, now: float) -> None:
        """Remove old files of ours, at most once an hour."""
        with self._lock:
            if self._swept is not None and abs(now - self._swept) < _SWEEP_EVERY:
                return
            self._swept = now
        for name in os.listdir(fd):
            if _OURS.fullmatch(name):
                with suppress(FileNotFoundError):  # another process sweeps too
                    info = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode) and info.st_mtime < now - self._retention:
                        os.unlink(name, dir_fd=fd)


def _enter(name: str, parent: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _ignore_itself(fd: int) -> None:
    """Hide the directory from git, unless somebody keeps other things in it."""
    if not all(_OURS.fullmatch(name) for name in os.listdir(fd)):
        return
    with suppress(FileExistsError):
        ignore = os.open(_IGNORE, _CREATE, 0o600, dir_fd=fd)
        try:
            os.write(ignore, b"*\n")
        finally:
            os.close(ignore)


@contextmanager
def _new_file(directory: int, stem: str, suffix: str) -> Iterator[tuple[str, BinaryIO]]:
    name, fd = _take_name(stem, suffix, lambda name: os.open(name, _CREATE, 0o600, dir_fd=directory))
    try:
        with os.fdopen(fd, "wb", buffering=1 << 17) as file:
            os.fchmod(fd, 0o600)
            yield name, file
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        raise


def _take_name(stem: str, suffix: str, make: Callable[[str], T]) -> tuple[str, T]:
    for number in range(1, _MOST_TRIES):
        name = f"{stem}{suffix}" if number == 1 else f"{stem}_{number}{suffix}"
        with suppress(FileExistsError):
            return name, make(name)
    raise FileExistsError(f"{_MOST_TRIES} outputs in one second")


def _linked(directory: int, stem: str, source: str, expected: os.stat_result) -> str | None:
    """The name of a second link to `source`; None where there cannot be one."""
    try:
        name, _ = _take_name(
            stem, ".log", lambda name: os.link(source, name, dst_dir_fd=directory, follow_symlinks=False)
        )
    except FileExistsError:
        raise
    except OSError:  # another file system, or one without links
        return None
    info = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if (info.st_dev, info.st_ino) == (expected.st_dev, expected.st_ino) and info.st_mode & 0o777 == 0o600:
        return name
    os.unlink(name, dir_fd=directory)
    return None


def _copied(directory: int, stem: str, origin: int, stop: Stop) -> str:
    with _new_file(directory, stem, ".log") as (name, file):
        while os.sendfile(file.fileno(), origin, None, _CHUNK):
            stop.check()
    return name


def _make_room(directory: int, size: int) -> None:
    """Remove adopted files, the oldest first, until they and the new one are within the limit."""
    found = []
    for name in os.listdir(directory):
        if _OURS.fullmatch(name) and name.endswith(".log"):
            with suppress(FileNotFoundError):
                info = os.stat(name, dir_fd=directory, follow_symlinks=False)
                found.append((info.st_mtime, name, info.st_size))
    total = size + sum(entry[2] for entry in found)
    for _, name, freed in sorted(found):
        if total <= _MOST_ADOPTED:
            return
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        total -= freed
