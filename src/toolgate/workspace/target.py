"""The target of a write: the real location behind a path, checked against everything that must not be written."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace import protect
from toolgate.workspace.confine import Identity, Place
from toolgate.workspace.file_state import ABSENT, state_of_file
from toolgate.workspace.oserrors import quote
from toolgate.workspace.root import OpenedFile, Workspace, kind_of

ProtectedPlaces = Mapping[Identity, tuple[str, ...]]
"""Protected paths by what is there."""
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
        """Open the file for reading; None if it does not exist."""
        return None if self.missing else workspace.open_file(self.path)


def target_of(workspace: Workspace, path: str, cwd: str = ".", protected: ProtectedPlaces | None = None) -> Target:
    """Resolve the file that writing `path` would change. Raises `ToolError` if it is protected or not a file.

    `protected` is what `protected_places` returned, for a caller that resolves many files.
    """
    relative = workspace.relative(path, cwd)
    if relative == ".":
        raise _directory(path)
    if workspace.is_protected(relative):
        raise protect.refuse_protected(path)
    place = workspace.locate(path, cwd)
    if not place.parts:
        raise _directory(path)
    known = protected_places(workspace) if protected is None else protected
    if workspace.is_protected("/".join(place.parts)) or _is_alias(workspace, place, known):
        raise protect.refuse_protected(path)
    if place.missing:
        if path.endswith("/"):
            raise _directory(path)
        return Target(typed=path, parts=place.parts, missing=place.missing, cwd=cwd)
    info = workspace.stat("/".join(place.parts))
    if info is not None:
        _require_writable_kind(info, path)
    return Target(typed=path, parts=place.parts, missing=0, cwd=cwd)


def resolve_again(workspace: Workspace, target: Target, protected: ProtectedPlaces | None = None) -> Target | None:
    """Resolve a path once more; None if it no longer leads to the same place."""
    now = target_of(workspace, target.typed, target.cwd, protected)
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


def protected_places(workspace: Workspace) -> ProtectedPlaces:
    """Return the protected places that exist, by what they are, whatever other names they have."""
    found: dict[Identity, tuple[str, ...]] = {}
    absent: str | None = None
    for protected in (*_PROTECTED, *workspace.own_paths):
        if absent is not None and protected.startswith(absent):
            continue
        try:
            info = workspace.stat(protected)
        except ToolError:  # it leads out of the root or is not accessible: it cannot be what was opened
            continue
        if info is None:
            absent = f"{protected}/"
        else:
            here = info.st_dev, info.st_ino
            found[here] = (*found.get(here, ()), protected)
    return found


def _is_alias(workspace: Workspace, place: Place, protected: ProtectedPlaces) -> bool:
    """Whether the location is protected under another name: through a link or a bind mount."""
    return any(
        workspace.is_protected("/".join((name, *place.parts[number + 1 :])))
        for number, identity in enumerate(place.identities)
        for name in protected.get(identity, ())
    )
