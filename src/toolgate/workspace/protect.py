"""Paths inside the root that the tools never write: they could run code or weaken the runtime's own rules."""

import itertools
from collections.abc import Sequence

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote

RUNTIME = ".toolgate"
"""The runtime's own directory: policy, agents, journal."""
_CONFIG = (".config", "toolgate")
"""The user's configuration and policy, if the home directory is the root."""
_GIT = ".git"
_GIT_RUNS = frozenset({"hooks", "config", "config.worktree", "commondir"})
"""Files that git executes, or that name programs and other directories for git."""
_GIT_NESTED = frozenset({"modules", "worktrees"})
"""Below these, every directory belongs to a repository."""


def is_protected(parts: Sequence[str]) -> bool:
    """Whether a path (its components from the root) is protected, existing or not, at any depth.

    Case is ignored, for file systems that ignore it. `.git` itself is protected: a file in its place would point git at
    another directory.
    """
    names = [name.casefold() for name in parts]
    if RUNTIME in names or _CONFIG in itertools.pairwise(names):
        return True
    return any(name == _GIT and _runs_code(names[position + 1 :]) for position, name in enumerate(names))


def _runs_code(below: list[str]) -> bool:
    if not below:
        return True
    if below[0] in _GIT_RUNS:
        return True
    return below[0] in _GIT_NESTED and not _GIT_RUNS.isdisjoint(below[1:])


def refuse_protected(path: str) -> ToolError:
    """Return the error for a protected path."""
    return ToolError(
        ErrorCode.ACCESS_DENIED,
        f"{quote(path)} is protected: the tools do not write git hooks, git configuration or the runtime's own files.",
        "Ask the user to make this change by hand.",
    )
