"""Skills: folders with a `SKILL.md` of the user and the project, read when they are needed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.ports import Skill
from toolgate.text.front_matter import split_front_matter
from toolgate.text.visible import visible
from toolgate.workspace.secret_files import SNIFFED, secret_content, secret_name
from toolgate.workspace.user_folders import Folder, entries, folders_of, open_folder, opened, read_text, require_plain

if TYPE_CHECKING:
    from toolgate.workspace.root import Workspace

_FILE = "SKILL.md"
_NAME = r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*"
_MAX_FILE_BYTES = 100_000
"""Bytes of a file of a skill."""
_MAX_DESCRIPTION = 1024
_MAX_SKILLS = 100
_MAX_FILES = 50
_MAX_DEPTH = 3


class Skills:
    """The skills of a user in a project. A project's skill never takes the place of the user's of that name."""

    def __init__(self, workspace: Workspace | None = None, user_directory: Path | None = None) -> None:
        self._workspace = workspace
        self._folders = folders_of(workspace, user_directory, "skills")
        self._ignored: set[tuple[str, str]] = set()
        """Invalid skills that were reported, and why; each is reported once."""

    def all(self) -> list[Skill]:
        """The valid skills, as the files are now: the user's before the project's."""
        found: dict[str, Skill] = {}
        for folder, fd in self._open_folders():
            for name in entries(fd):
                if len(found) >= _MAX_SKILLS or name in found:
                    continue
                skill = self._found(folder, fd, name)
                if skill is not None:
                    found[name] = skill
        return list(found.values())

    def read(self, name: str, file: str = "") -> tuple[Skill, str, list[str]]:
        """A skill, the text of its body or of one of its files, and the names of its files. Raises `ToolError`."""
        for folder, fd in self._open_folders():
            skill = self._found(folder, fd, name) if re.fullmatch(_NAME, name) else None
            if skill is None:
                continue
            with _inside(fd, name, follow=folder.follows_links) as inside:
                text = _part(inside, file) if file else _body(inside)
                self._require_plain(skill, file or _FILE)
                if reason := secret_name(file) or secret_content(text[:SNIFFED].encode()):
                    raise ToolError(
                        ErrorCode.ACCESS_DENIED, f"{file[:200] or _FILE!r} may hold {reason}.", "Do without it."
                    )
                return skill, text, list(_files(inside))
        known = ", ".join(skill.name for skill in self.all()) or "none"
        raise ToolError(ErrorCode.NOT_FOUND, f"There is no skill {name[:64]!r}.", f"The skills are: {known}.")

    def _require_plain(self, skill: Skill, file: str) -> None:
        """Raise `ToolError` for a file of a project's skill that nobody may read without being asked."""
        if skill.source == "project" and self._workspace is not None:
            require_plain(self._workspace, f"{skill.path}/{file.removeprefix('./')}")

    def _open_folders(self) -> Iterator[tuple[Folder, int]]:
        """Yield the folders that exist with their descriptors, which are closed after their turn."""
        for folder in self._folders:
            with opened(folder) as fd:
                if fd is not None:
                    yield folder, fd

    def _found(self, folder: Folder, fd: int, name: str) -> Skill | None:
        """The skill in a folder of that name; None if there is none or it is invalid, which is reported once."""
        try:
            with _inside(fd, name, follow=folder.follows_links) as inside:
                skill = _skill(folder, name, read_text(inside, _FILE, _MAX_FILE_BYTES))
            self._require_plain(skill, _FILE)
            return skill
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, ToolError) as error:
            reason = error.strerror or "it cannot be read" if isinstance(error, OSError) else str(error)
            if (name, reason) not in self._ignored and len(self._ignored) < _MAX_SKILLS:
                self._ignored.add((name, reason))
                shown = visible(name[:100], keep="")
                logger("skills").warning("skill_ignored", skill=shown, source=folder.source, reason=reason)
            return None


def _skill(folder: Folder, name: str, text: str) -> Skill:
    keys, _ = split_front_matter(text)
    if not re.fullmatch(_NAME, name) or keys.get("name", name) != name:
        raise ValueError(
            "its name must be that of its folder: lower-case letters, digits and single hyphens, at most 64"
        )
    description = visible(" ".join(keys.get("description", "").split()), keep="")
    if not description or len(description) > _MAX_DESCRIPTION:
        raise ValueError(f"its description must have 1 to {_MAX_DESCRIPTION} characters")
    return Skill(name=name, description=description, source=folder.source, path=f"{folder.path}/{name}")


@contextmanager
def _inside(fd: int, name: str, *, follow: bool) -> Iterator[int]:
    inside = open_folder(fd, name, follow=follow)
    try:
        yield inside
    finally:
        os.close(inside)


def _body(fd: int) -> str:
    """The text of `SKILL.md` without its keys."""
    return split_front_matter(read_text(fd, _FILE, _MAX_FILE_BYTES))[1]


def _part(fd: int, path: str) -> str:
    """The text of a file beside `SKILL.md`; no component of its path may be a link."""
    *folders, last = path.removeprefix("./").split("/")
    if "\0" in path or ".." in (*folders, last) or "" in (*folders, last):
        raise ToolError(ErrorCode.ACCESS_DENIED, f"{path[:200]!r} is not inside the skill.", "Name one of its files.")
    here = os.dup(fd)
    try:
        for name in folders:
            here, above = open_folder(here, name, follow=False), here
            os.close(above)
        return read_text(here, last, _MAX_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(
            ErrorCode.NOT_FOUND, f"The skill has no file {path[:200]!r}.", "Name one of its files."
        ) from None
    except OSError:
        step = "Links are not followed in skills. Name a regular file."
        raise ToolError(ErrorCode.ACCESS_DENIED, f"{path[:200]!r} cannot be read.", step) from None
    except ValueError as error:
        raise ToolError(ErrorCode.INVALID_PARAM, f"{path[:200]!r}: {error}.", "Use Bash if you need it.") from None
    finally:
        os.close(here)


def _files(fd: int, prefix: str = "", depth: int = 1) -> Iterator[str]:
    """The names of a skill's other files, without links, up to a limit."""
    count = 0
    for name in entries(fd):
        if count >= _MAX_FILES or name.startswith("."):
            continue
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode) and depth < _MAX_DEPTH:
            with _inside(fd, name, follow=False) as inside:
                for found in _files(inside, f"{prefix}{name}/", depth + 1):
                    count += 1
                    yield found
        elif stat.S_ISREG(info.st_mode) and prefix + name != _FILE:
            count += 1
            yield visible(prefix + name, keep="")
