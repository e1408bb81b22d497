"""What the page shows of the project: its name, its branch, its sandbox, and suggestions for a first message."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.modes import ToolMode
from toolgate.search.listing import list_directory

if TYPE_CHECKING:
    from toolgate.workspace import Stop, Workspace

_MAX_BYTES = 64 * 1024
_MAX_ENTRIES = 1_000
_LISTING_SECONDS = 1.0
_READMES = ("README.md", "README.rst", "README.txt", "README")
_TESTS = ("tests", "test", "spec")
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.(py|go)|.*\.(test|spec)\.[jt]sx?")
_COMMIT = re.compile(r"\tcommit(?: \([a-z]+\))?: (.+)$", re.MULTILINE)
_CHAT_SUGGESTIONS = ("What can you do in this session?", "What time is it?", "Make a to-do list for a release")
_GENERAL_SUGGESTIONS = (
    "Give me a tour of this project",
    "Look for bugs in this project",
    "What would you improve here first?",
)


def project_label(project: str, home: str | None = None) -> str:
    """Return a short name of a project's root: below the user's home with `~`, else its last two parts."""
    home = os.environ.get("HOME", "") if home is None else home
    if len(home) > 1 and project.startswith(f"{home}/"):
        return f"~{project[len(home) :]}"
    parts = [part for part in project.split("/") if part]
    return project if len(parts) < 3 or not project.startswith("/") else f"…/{'/'.join(parts[-2:])}"


def project_name(project: str) -> str:
    """Return the last part of a project's root."""
    return project.rstrip("/").rsplit("/", 1)[-1] or project


def branch(workspace: Workspace) -> str:
    """Return the branch that is checked out, the beginning of a commit's hash, or nothing without git."""
    head = _read(workspace, ".git/HEAD").strip()
    if head.startswith("ref: refs/heads/"):
        return head.removeprefix("ref: refs/heads/")[:200]
    return head[:8] if re.fullmatch(r"[0-9a-f]{40,64}", head) else ""


def suggestions(stop: Stop, workspace: Workspace | None, mode: ToolMode) -> list[str]:
    """Return three suggestions for a first message in this project and mode."""
    if workspace is None or mode is not ToolMode.coding:
        return list(_CHAT_SUGGESTIONS)
    found: list[str] = []
    if any(workspace.is_file(name) for name in _READMES):
        found.append("Read the README and explain how this project works")
    if _has_tests(stop, workspace):
        found.append("Run the tests and fix what fails")
    subjects = _COMMIT.findall(_read(workspace, ".git/logs/HEAD"))
    if subjects:
        subject = " ".join(subjects[-1].split())[:60]
        found.append(f"Explain the last commit, “{subject}”")
    return [*found, *_GENERAL_SUGGESTIONS][:3]


def describe(
    stop: Stop, workspace: Workspace | None, project: str, mode: ToolMode, *, coding_enabled: bool
) -> dict[str, Any]:
    """Return what `project.info` answers, without the sandbox."""
    visible = workspace if coding_enabled else None
    return {
        "name": project_name(project),
        "root_label": project_label(project) if coding_enabled else project_name(project),
        "branch": "" if visible is None else branch(visible),
        "coding_enabled": coding_enabled,
        "suggestions": suggestions(stop, visible, mode),
    }


def sandbox(_stop: Stop, wanted: str, bubblewrap: str | None) -> str:
    """Return the name of what confines commands here: `off` if nothing does, `unavailable` if commands cannot run."""
    from toolgate.sandbox import choose_layer

    try:
        return str(choose_layer(wanted, bubblewrap=bubblewrap).name)
    except ToolError:
        return "unavailable"


def _read(workspace: Workspace, path: str) -> str:
    """Return the end of a small text file; empty if there is none."""
    with suppress(ToolError, OSError), workspace.open_file(path) as opened:
        size = opened.stat.st_size
        return opened.read(_MAX_BYTES, max(0, size - _MAX_BYTES)).decode("utf-8", "replace")
    return ""


def _has_tests(stop: Stop, workspace: Workspace) -> bool:
    for folder in (*_TESTS, "."):
        with suppress(ToolError, OSError):
            fd = workspace.open_dir(folder)
            try:
                deadline = time.monotonic() + _LISTING_SECONDS
                listing = list_directory(
                    fd, offset=0, limit=_MAX_ENTRIES, include_hidden=False, deadline=deadline, check=stop.check
                )
            finally:
                os.close(fd)
            if any(_TEST_FILE.fullmatch(name) for name, _ in listing.entries):
                return True
    return False
