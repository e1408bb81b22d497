"""The target of a write: the real location behind a path, checked against everything that must not be written."""

import os
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import protect
from toolgate.workspace.confine import Place
from toolgate.workspace.file_state import ABSENT, state_of_file
from toolgate.workspace.oserrors import quote
from toolgate.workspace.root import OpenedFile, Workspace, kind_of

_PROTECTED = (protect.RUNTIME, ".git", ".git/hooks", ".git/config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file to be written."""

    typed: str
    """The path as it was typed."""
    parts: tuple[str, ...]
    """The components of its real location. A link to a file stands for that file."""
    missing: int
    """How many of them do not exist yet."""
    cwd: str = "."
    """The directory that a relative path starts from."""

    @property
    def path(self) -> str:
        """The real location, relative to the root."""
        return "/".join(self.parts)

    def open(self, workspace: Workspace) -> OpenedFile | None:
        """The status of the file, or None if it does not exist."""
        return None if self.missing else workspace.open_file(self.path)


def target_of(workspace: Workspace, path: str, cwd: str = ".") -> Target:
    """Resolve the file that writing `path` would change. Raises `ToolError` if it is protected or not a file."""
    relative = workspace.relative(path, cwd)
    if relative == ".":
        raise _directory(path)
    if workspace.is_protected(relative):
        raise protect.refuse_protected(path)
    place = workspace.locate(path, cwd)
    if not place.parts:
        raise _directory(path)
    if protect.is_protected(place.parts) or _is_alias(workspace, place):
        raise protect.refuse_protected(path)
    if place.missing:
        if path.endswith("/"):
            raise _directory(path)
        return Target(typed=path, parts=place.parts, missing=place.missing, cwd=cwd)
    info = workspace.stat("/".join(place.parts))
    if info is not None:
        _require_writable_kind(info, path)
    return Target(typed=path, parts=place.parts, missing=0, cwd=cwd)


def resolve_again(workspace: Workspace, target: Target) -> Target | None:
    """Resolve a path once more; None if it no longer leads to the same place."""
    now = target_of(workspace, target.typed, target.cwd)
    return now if now.parts == target.parts else None


def state_of(opened: OpenedFile | None) -> str:
    """The state that a plan is made for."""
    return ABSENT if opened is None else state_of_file(opened.fd, opened.stat)


def _require_writable_kind(info: os.stat_result, path: str) -> None:
    kind = kind_of(info)
    if kind == "directory":
        raise _directory(path)
    if kind != "file":
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(path)} is a {kind}, not a writable file.",
            "Only regular files can be read and written; choose another path.",
        )


def _directory(path: str) -> ToolError:
    return ToolError(
        ErrorCode.IS_DIRECTORY,
        f"{quote(path)} is a directory, not a writable file.",
        "Name a file in it, or list it with 'ls'.",
    )


def _is_alias(workspace: Workspace, place: Place) -> bool:
    """Whether the location is protected under another name: through a link or a bind mount."""
    absent: str | None = None
    for protected in _PROTECTED:
        if absent is not None and protected.startswith(absent):
            continue
        try:
            info = workspace.stat(protected)
        except ToolError:  # it leads out of the root or is not accessible: it cannot be what was opened
            continue
        if info is None:
            absent = f"{protected}/"
        elif (here := (info.st_dev, info.st_ino)) in place.identities:
            behind = place.parts[place.identities.index(here) + 1 :]
            if protect.is_protected((*protected.split("/"), *behind)):
                return True
    return False
