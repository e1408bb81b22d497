"""The start of a search: the opened directory or file, and the rules that apply there."""

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from toolgate.search.walk import STATE, VERSION_CONTROL, inherited
from toolgate.workspace.beneath import scan_directory
from toolgate.workspace.outputs import OUTPUTS
from toolgate.workspace.root import OpenedFile, Workspace

_MAX_LOOKED_AT = 300


@dataclass(kw_only=True)
class SearchRoot:
    """An open starting point, and a context manager that closes it."""

    path: str
    """Relative to the root, as it was typed; `.` is the root."""
    root: int
    """Descriptor of the project root, beneath which alone anything may be read."""
    directory: int | None = None
    file: OpenedFile | None = None
    rules: list[str] | None = None
    """Ignore rules from above, relative to the start; None if nothing is ignored."""
    hidden: tuple[str, ...] = ()
    """The runtime's own directories below the start, relative to it. They are not searched."""
    git: bool = True
    """Whether there may be repositories below the start.

    Their `.git` is never searched, but checking for it at every entry costs ripgrep a tenth of its time.
    """

    @property
    def prefix(self) -> str:
        """The prefix of paths that are relative to the start."""
        return "" if self.path == "." else f"{self.path}/"

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes of every name that paths have: as it was typed, and where the opened directory really is."""
        if self.directory is None:
            return (self.prefix,)
        real, root = (os.readlink(f"/proc/self/fd/{fd}") for fd in (self.directory, self.root))
        if not self.prefix.startswith("/"):
            real = real.removeprefix(root).lstrip("/")
        return tuple({self.prefix, f"{real}/" if real else ""})

    def __enter__(self) -> "SearchRoot":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.root)
        if self.directory is not None:
            os.close(self.directory)
        if self.file is not None:
            self.file.close()


def open_search_root(
    workspace: Workspace, path: str, *, output_dir: str, include_ignored: bool, files: bool
) -> SearchRoot:
    """Open a directory to search below, or (with `files`) a single file. Raises `ToolError`."""
    relative = workspace.relative(path)
    is_root = relative == "."
    info = workspace.stat(path) if files and not is_root else None
    with ExitStack() as on_failure:
        root = workspace.open_dir(".")
        on_failure.callback(os.close, root)
        if info is not None and not stat.S_ISDIR(info.st_mode):
            start = SearchRoot(path=relative, root=root, file=workspace.open_file(path))
        else:
            directory = os.dup(root) if is_root else workspace.open_dir(path)
            on_failure.callback(os.close, directory)
            parts = [] if is_root else list(workspace.locate(path).parts[len(workspace.prefix) :])
            output = output_dir.split("/")
            start = SearchRoot(path=relative, root=root, directory=directory, git=_has_git(directory))
            if not include_ignored and parts[: len(output)] != output:
                start.rules = _rules_above(workspace, root, parts)
            below = "/".join(output[len(parts) :]) if output[: len(parts)] == parts else ""
            private = OUTPUTS.removeprefix(f"{STATE}/") if parts == [STATE] else ""
            start.hidden = tuple(name for name in (STATE, below, private) if name and _exists(directory, name))
        on_failure.pop_all()
        return start


def _exists(directory: int, path: str) -> bool:
    try:
        os.stat(path, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def _has_git(directory: int) -> bool:
    """Whether version control keeps files here, or git does one level down; True if there is too much to check."""
    if any(_exists(directory, name) for name in VERSION_CONTROL):
        return True
    with scan_directory(directory) as entries:
        for count, entry in enumerate(entries):
            if count == _MAX_LOOKED_AT:
                return True
            if entry.is_dir(follow_symlinks=False) and _exists(directory, f"{entry.name}/.git"):
                return True
    return False


def _rules_above(workspace: Workspace, root: int, parts: list[str]) -> list[str]:
    with ExitStack() as stack:
        try:
            below = [stack.enter_context(workspace.directory(tuple(parts[:level]))) for level in range(1, len(parts))]
        except OSError:  # it was moved: then nothing is inherited
            return []
        return inherited([root, *below], parts)
