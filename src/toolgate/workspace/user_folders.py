"""Folders of Markdown that the user or the project brings: opened by descriptors, bounded, links not followed."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from toolgate.errors import ToolError
from toolgate.system import O_CLOEXEC, O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK

if TYPE_CHECKING:
    from toolgate.workspace.root import Workspace

Source = Literal["user", "project"]
_MAX_ENTRIES = 1000
_DIRECTORY = os.O_RDONLY | O_DIRECTORY | O_CLOEXEC
_FILE = os.O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW


class Folder(NamedTuple):
    """A folder that may exist. Nothing below it is reached through a link, unless it is the user's own folder."""

    source: Source
    path: str
    """As it is shown: relative to the project, or absolute."""
    open: Callable[[], int]

    @property
    def follows_links(self) -> bool:
        """Whether entries may be links: people keep their own files elsewhere; a project could name any file so."""
        return self.source == "user"


def folders_of(workspace: Workspace | None, user_directory: Path | None, kind: str) -> list[Folder]:
    """The folders of one kind (`skills`, `commands`): the user's first, then the project's.

    There are none on Windows, where nothing can be opened below a descriptor.
    """
    found: list[Folder] = []
    if not O_DIRECTORY:
        return found
    if user_directory is not None:
        own = user_directory / kind
        found.append(Folder(source="user", path=str(own), open=lambda: os.open(own, _DIRECTORY)))
    if workspace is not None:
        for base in (".toolgate", ".agents", ".claude"):
            name = f"{base}/{kind}"
            found.append(Folder(source="project", path=name, open=_project(workspace, name)))
    return found


def _project(workspace: Workspace, name: str) -> Callable[[], int]:
    return lambda: workspace.open_dir(name)


@contextmanager
def opened(folder: Folder) -> Iterator[int | None]:
    """The descriptor of a folder; None if there is none."""
    fd = None
    with suppress(OSError, ToolError):
        fd = folder.open()
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def require_plain(workspace: Workspace, path: str) -> None:
    """Raise `ToolError` for a file of the project that holds secrets, is the runtime's own, or is denied by a rule.

    Nobody is asked here.
    """
    from toolgate.workspace.file_guard import NO_RULES, FileGuard

    guard = FileGuard(workspace, workspace.path_rules or (lambda: NO_RULES), single_use=True)
    if (guarded := guard.judge(path)) is not None:
        raise guard.refusal(guarded)


def entries(fd: int) -> list[str]:
    """The names in a folder, sorted; of a huge folder, some of them."""
    with os.scandir(fd) as found:
        return sorted(entry.name for entry in itertools.islice(found, _MAX_ENTRIES))


def open_folder(fd: int, name: str, *, follow: bool) -> int:
    """Open a folder inside another one. Raises `OSError` also for a link that must not be followed."""
    return os.open(name, _DIRECTORY | (0 if follow else O_NOFOLLOW), dir_fd=fd)


def read_text(fd: int, name: str, largest: int, *, follow: bool = False) -> str:
    """The text of a regular file. Raises `OSError` or `ValueError`: a link, a device, too large, not UTF-8."""
    file = os.open(name, _FILE & ~O_NOFOLLOW if follow else _FILE, dir_fd=fd)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ValueError("it is not a regular file")
        with os.fdopen(file, "rb", closefd=False) as stream:
            content = stream.read(largest + 1)
    finally:
        os.close(file)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None
