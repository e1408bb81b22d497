"""Scripts that a person has approved. What runs is what was shown, even if the file changes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode

if TYPE_CHECKING:
    from toolgate.workspace import Workspace
    from toolgate.workspace.root import OpenedFile

MAX_BYTES = 1 << 20
"""Largest file that is hashed and copied, in bytes. A larger one is identified by its inode, size and times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A file inside the root, as it was read."""

    path: str
    digest: str
    """SHA-256 of the content, or `none` and why it could not be read."""
    content: bytes | None = None
    """None if it is too large to copy, or could not be read."""
    mode: int = 0


def read_script(workspace: Workspace, path: str) -> Script:
    """Read a file once and return its content with its hash."""
    try:
        with workspace.open_file(path) as file:
            content, mode = _content(file), stat.S_IMODE(file.stat.st_mode)
        if content is not None:
            return Script(path=path, digest=hashlib.sha256(content).hexdigest(), content=content, mode=mode)
        return Script(path=path, digest=hashlib.sha256(workspace.state(path).encode()).hexdigest())
    except ToolError as error:
        return Script(path=path, digest=f"none: {error.code.value}")


def _content(file: OpenedFile) -> bytes | None:
    """Return the content of a file; None if it is too large to copy, even if it has only just grown."""
    if file.stat.st_size > MAX_BYTES:
        return None
    content = os.pread(file.fd, MAX_BYTES + 1, 0)
    return content if len(content) <= MAX_BYTES else None


def check_scripts(workspace: Workspace, digests: Mapping[str, str]) -> list[Script]:
    """Return the files if they still have the approved hashes; raise `CONFLICT` if one has changed."""
    scripts = []
    for path, digest in digests.items():
        script = read_script(workspace, path)
        if script.digest != digest:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"'{path}' changed after the command was approved; nothing was run.",
                "Make the call again.",
            )
        scripts.append(script)
    return scripts
