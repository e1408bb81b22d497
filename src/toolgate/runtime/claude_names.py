"""The names that Claude Code has for our tools, so that hooks written for it also match the calls here."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError

if TYPE_CHECKING:
    from toolgate.workspace import Workspace

_NAMES: dict[str, tuple[str, ...]] = {
    "read_file": ("Read",),
    "write_file": ("Write",),
    "edit_file": ("Edit", "MultiEdit"),
    "apply_patch": ("Edit", "MultiEdit", "Write"),
    "edit_notebook": ("NotebookEdit",),
    "glob": ("Glob",),
    "grep": ("Grep",),
    "ls": ("LS",),
    "task": ("Task", "Agent"),
    "todo": ("TodoWrite",),
    "skill": ("Skill",),
    "ask_user": ("AskUserQuestion",),
    "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
}
_FILES = {
    "read_file": "file_path",
    "write_file": "file_path",
    "edit_file": "file_path",
    "edit_notebook": "notebook_path",
}
"""Tools about one file, and what Claude Code calls their `path`."""


def claude_name(matcher: str, name: str) -> str:
    """The name in Claude Code by which a matcher matches a tool; empty if it matches none of its names."""
    return next((alias for alias in _NAMES.get(name, ()) if re.fullmatch(matcher, alias)), "")


def claude_paths(name: str, arguments: Any, workspace: Workspace | None) -> list[dict[str, str]]:
    """The extra arguments for a hook of Claude Code: the absolute path. For a patch, one item per file."""
    if not isinstance(arguments, dict):
        return [{}]
    if name == "apply_patch":
        return [{"file_path": path} for path in _patched(arguments, workspace)] or [{}]
    key, path = _FILES.get(name), arguments.get("path")
    return [{key: _absolute(path, workspace)} if key and isinstance(path, str) else {}]


def _absolute(path: str, workspace: Workspace | None, directory: str = ".") -> str:
    """Return a path in the form that guards compare: no detour over `..` or `.` hides where it leads."""
    if workspace is None:
        return os.path.normpath(os.path.join("/", directory, path))
    root = str(workspace.root)
    try:
        return os.path.normpath(os.path.join(root, workspace.relative(path, directory)))
    except ToolError:  # the path leads out of the project; the tool reports that
        return os.path.normpath(os.path.join(root, directory, path))


def own_arguments(name: str, changed: dict[str, Any], shown: Any) -> dict[str, Any]:
    """Arguments that such a hook has changed, as our tool takes them."""
    key = "file_path" if name == "apply_patch" else _FILES.get(name, "")
    if key not in changed or not isinstance(shown, dict) or key not in shown:
        return changed
    rest = {word: value for word, value in changed.items() if word != key}
    return rest if changed[key] == shown[key] or name == "apply_patch" else {**rest, "path": changed[key]}


def _patched(arguments: dict[str, Any], workspace: Workspace | None) -> list[str]:
    """Every path that a patch names; none if it is not a patch, which the tool then reports."""
    from toolgate.workspace.patch import parse_patch

    try:
        sections = parse_patch(str(arguments.get("patch", "")))
    except ToolError:
        return []
    directory = str(arguments.get("directory", "."))
    paths = [path for section in sections for path in (section.path, section.move_to) if path]
    return list(dict.fromkeys(_absolute(path, workspace, directory) for path in paths))
