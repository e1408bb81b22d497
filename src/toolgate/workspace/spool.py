"""The directory for whole outputs: private files with unique names, made beneath the root and removed when old.

Every step is relative to a descriptor, and no component may be a link: a directory that somebody made in its place, as
a link to elsewhere, is refused instead of followed.
"""

import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import BinaryIO

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.root import Workspace

_OURS = re.compile(r"tool_\d{8}_\d{6}_[A-Za-z0-9_-]+\.json")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_MOST_TRIES = 10_000
_SWEEP_EVERY = 3600.0
_DAY = 86_400.0
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
        directory = self._workspace.relative(self._directory)
        try:
            fd = self._open(directory)
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
            with _new_file(fd, file_stem(label, now)) as (name, file):
                yield f"{directory}/{name}", file
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
def _new_file(directory: int, stem: str) -> Iterator[tuple[str, BinaryIO]]:
    name, fd = _take_name(directory, stem)
    try:
        with os.fdopen(fd, "wb", buffering=1 << 17) as file:
            os.fchmod(fd, 0o600)
            yield name, file
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        raise


def _take_name(directory: int, stem: str) -> tuple[str, int]:
    for number in range(1, _MOST_TRIES):
        name = f"{stem}.json" if number == 1 else f"{stem}_{number}.json"
        with suppress(FileExistsError):
            return name, os.open(name, _CREATE, 0o600, dir_fd=directory)
    raise FileExistsError(f"{_MOST_TRIES} outputs in one second")
