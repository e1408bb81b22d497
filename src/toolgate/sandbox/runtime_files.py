"""Mounts that protect the runtime's own program files inside the root."""

from __future__ import annotations

import os
from collections.abc import Iterator

from toolgate.errors import ToolError
from toolgate.process.executables import runtime_files
from toolgate.protocol.codes import ErrorCode
from toolgate.sandbox.view import Mount


def runtime_mounts(root: str) -> Iterator[Mount]:
    """Mount each file read-only onto itself, and each of its parent directories unchanged.

    A mount point can be neither renamed nor removed, so no other file can replace one of these.
    """
    pinned: set[str] = set()
    for path in runtime_files(root):
        for step in _way(root, path):
            if step in pinned:
                continue
            if os.path.islink(step):
                raise ToolError(
                    ErrorCode.ACCESS_DENIED,
                    f"Toolgate itself is installed below '{os.path.relpath(step, root)}', which is a link that "
                    "commands could replace.",
                    'Use access="read", or ask the user to install Toolgate outside the project.',
                )
            pinned.add(step)
            yield Mount("ro" if step == path else "rw", step, step)


def _way(root: str, path: str) -> Iterator[str]:
    parts = os.path.relpath(path, root).split("/")
    for depth in range(1, len(parts) + 1):
        yield os.path.join(root, *parts[:depth])
