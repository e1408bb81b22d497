"""The project's files as a person sees them: one directory, and lines of a file.

Everything goes through the session's view of the workspace. Git's and Toolgate's own directories are not shown.
"""

from __future__ import annotations

import importlib
import os
import time
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.search.listing import list_directory
from toolgate.workspace.oserrors import quote
from toolgate.workspace.read import read_window

if TYPE_CHECKING:
    from toolgate.workspace import Stop, Workspace

MAX_ENTRIES = 2_000
MAX_LINES = 2_000
MAX_BYTES = 400_000
_SECONDS = 3.0
_HIDDEN = (".git", ".toolgate")


def list_entries(stop: Stop, workspace: Workspace, path: str) -> dict[str, Any]:
    """Return one directory."""
    relative = _visible_path(workspace, path)
    fd = workspace.open_dir(path)
    try:
        listing = list_directory(
            fd,
            offset=0,
            limit=MAX_ENTRIES,
            include_hidden=True,
            deadline=time.monotonic() + _SECONDS,
            check=stop.check,
        )
    finally:
        os.close(fd)
    prefix = "" if relative == "." else f"{relative}/"
    entries = [
        {"name": name, "path": f"{prefix}{name}", "kind": kind}
        for name, kind in listing.entries
        if prefix or name.casefold() not in _HIDDEN
    ]
    entries.sort(key=lambda entry: (entry["kind"] != "dir", entry["name"].casefold(), entry["name"]))
    truncated = not listing.complete or listing.total > MAX_ENTRIES
    return {"path": relative, "entries": entries, "truncated": truncated}


def read_lines(stop: Stop, workspace: Workspace, path: str, start_line: int) -> dict[str, Any]:
    """Return lines of a text file."""
    relative = _visible_path(workspace, path)
    window = read_window(stop, workspace, path, start_line, MAX_LINES, MAX_BYTES)
    return {
        "path": relative,
        "content": "".join(f"{line}\n" for line in window.lines),
        "start_line": start_line,
        "lines": len(window.lines),
        "total_lines": window.total_lines,
        "language": language(relative),
        "truncated": window.more or window.searched is not None or bool(window.clipped) or window.hole is not None,
    }


def language(path: str) -> str:
    """Return the name of the language that a file's name stands for, as highlighters spell it; else `text`."""
    try:
        lexers = importlib.import_module("pygments.lexers")
    except ImportError:
        return "text"
    found = lexers.find_lexer_class_for_filename(path.rsplit("/", 1)[-1])
    return "text" if found is None else str(next(iter(found.aliases), "text"))


def _visible_path(workspace: Workspace, path: str) -> str:
    """Return the path relative to the root. Raises `ToolError` if it is not for people to see."""
    relative = workspace.relative(path)
    for parts in (tuple(relative.split("/")), workspace.locate(path).parts):
        hidden = parts[0].casefold() in _HIDDEN if parts else False
        if (hidden and not _is_own_output(workspace, relative)) or workspace.is_own_file("/".join(parts) or "."):
            raise ToolError(
                ErrorCode.ACCESS_DENIED, f"{quote(path)} is not shown here.", "Choose a file of the project."
            )
    return relative


def _is_own_output(workspace: Workspace, relative: str) -> bool:
    """Whether a path is an output file of this session."""
    own = workspace.own_outputs
    return own is not None and relative.startswith(f"{own.shown}/")
