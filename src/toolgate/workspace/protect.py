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
"""A repository: hooks, settings and lists of steps, which git runs, and the history."""


def is_protected(parts: Sequence[str]) -> bool:
    """Whether a path (its components from the root) is protected, existing or not, at any depth.

    Case is ignored, for file systems that ignore it. A file in place of `.git` would point git at another directory.
    """
    names = [name.casefold() for name in parts]
    return RUNTIME in names or _GIT in names or _CONFIG in itertools.pairwise(names)


def refuse_protected(path: str) -> ToolError:
    """Return the error for a protected path."""
    return ToolError(
        ErrorCode.ACCESS_DENIED,
        f"{quote(path)} is protected: the tools do not write below '.git', and not the runtime's own files.",
        "Use a git command for this, or ask the user to make the change by hand.",
    )
