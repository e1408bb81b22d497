"""Further directories that the operator lets tools and commands read: confined like the root, and never written.

Only the tools that read are given one (`ToolContext.at`). A tool that writes knows the project's root and nothing else.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolgate.errors import ConfigError, ToolError
from toolgate.workspace.confine import Place, Walk
from toolgate.workspace.file_guard import FileGuard, PathRules
from toolgate.workspace.oserrors import from_os_error
from toolgate.workspace.root import Workspace

if TYPE_CHECKING:
    from toolgate.workspace.secret_scan import PathPattern, SecretsFound

VARIABLE = "TOOLGATE_WORKSPACE_EXTRA"


class ExtraDirectory(Workspace):
    """A directory outside the root that is only read. The normal form of a path in it is absolute."""

    def __init__(self, path: str, project: Workspace) -> None:
        super().__init__(path)
        self.programs_root = project.programs_root
        self.prefix = tuple(str(self.root).split("/"))
        self._opener = self._open
        self._open = self._open_below

    def relative(self, path: str, cwd: str = ".") -> str:
        """Return the absolute path in normal form. Raises `ToolError` for a path outside this directory."""
        below = super().relative(path, cwd)
        return str(self.root) if below == "." else f"{self.root}/{below}"

    def locate(self, path: str, cwd: str = ".") -> Place:
        """Return the real location of `path`; its components begin at the root of the file system."""
        try:
            with Walk(self.fd) as walk:
                place = walk.to(self.below(self.relative(path, cwd)).split("/"))
        except OSError as error:
            raise from_os_error(error, path) from None
        return place._replace(parts=(*self.prefix, *place.parts))

    def holds(self, path: str) -> bool:
        """Whether an absolute path, as text, is in this directory."""
        if not path.startswith("/"):
            return False
        try:
            self.relative(path)
        except ToolError:
            return False
        return True

    def _forms_of(self, paths: Iterable[str]) -> set[str]:
        """The absolute forms, and those below this directory."""
        found = super()._forms_of(paths) - {str(self.root)}
        return found | {self.below(path) for path in found}

    def below(self, path: str) -> str:
        """Return a path in normal form relative to this directory."""
        if not path.startswith("/"):
            return path
        root = str(self.root)
        if path == root:
            return "."
        if not path.startswith(f"{root}/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return path[len(root) + 1 :]

    def _open_below(self, root_fd: int, path: str, flags: int, *, links: bool = True, wait: bool = True) -> int:
        return self._opener(root_fd, self.below(path), flags, links=links, wait=wait)


@dataclass(frozen=True, slots=True)
class _Denied:
    """A pattern of a rule that denies. It matches the path below the directory, and the absolute path."""

    pattern: PathPattern
    directory: str

    @property
    def rule(self) -> str:
        """The rule that the pattern belongs to."""
        return self.pattern.rule

    def matches(self, path: str) -> bool:
        """Whether either form of the path fits."""
        below = path.removeprefix(self.directory).lstrip("/") or "."
        return self.pattern.matches(path) or self.pattern.matches(below)


class ExtraGuard(FileGuard):
    """Judges the paths of an extra directory, which are absolute."""

    def __init__(self, directory: ExtraDirectory, rules: Callable[[], PathRules]) -> None:
        root = str(directory.root)

        def both_forms() -> PathRules:
            now = rules()
            return replace(now, denied=tuple(_Denied(pattern, root) for pattern in now.denied))

        super().__init__(directory, both_forms)
        self.directory = directory

    def found(self) -> SecretsFound:
        """All secret and denied files of the directory, by their absolute paths."""
        found, root = super().found(), self.directory.root
        return replace(
            found,
            secrets={str(root / path): reason for path, reason in found.secrets.items()},
            denied=frozenset(str(root / path) for path in found.denied),
            shown=frozenset(str(root / path) for path in found.shown),
        )


def open_extra(workspace: Workspace, paths: Sequence[str]) -> None:
    """Open the operator's further directories for a workspace, once. Raises `ConfigError` if one cannot be."""
    if tuple(paths) == workspace.extra_paths:
        return
    root = str(workspace.root)
    found = list[ExtraDirectory]()
    for path in paths:
        try:
            directory = ExtraDirectory(path, workspace)
        except OSError as error:
            raise ConfigError([f"{VARIABLE}: {path} cannot be opened ({error.strerror}). {_STEP}"]) from None
        found.append(directory)
        if problem := _overlap(str(directory.root), root):
            for opened in found:
                opened.close()
            raise ConfigError([f"{VARIABLE}: {path} {problem}. {_STEP}"])
    workspace.extra = tuple(found)
    workspace.extra_paths = tuple(paths)


_STEP = "Name directories outside the project root that exist, or unset it"


def _overlap(directory: str, root: str) -> str:
    if directory == root:
        return "is the project root itself"
    if f"{root}/".startswith(f"{directory.rstrip('/')}/"):
        return "contains the project root"
    home = os.path.realpath(os.path.expanduser("~"))
    if f"{home}/".startswith(f"{directory.rstrip('/')}/"):
        return "contains your home directory, which commands see as a private one"
    if f"{directory}/".startswith(f"{root.rstrip('/')}/"):
        return "is inside the project root, where tools read already"
    return ""


def path_forms(workspace: Workspace, path: str) -> set[str]:
    """Return the forms in which rules may name a path of an extra directory.

    These are the absolute path, the path below the directory, and both with links resolved.
    """
    found = set[str]()
    for directory in workspace.extra:
        if directory.holds(path):
            with suppress(ToolError):
                for form in (directory.relative(path), "/".join(directory.locate(path).parts)):
                    found.update((form, directory.below(form)))
    return found
