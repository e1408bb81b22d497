"""Output files: their names, where those of a session are, and how a result's reference is opened."""

import re
from typing import TYPE_CHECKING, NamedTuple

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote
from toolgate.workspace.protect import RUNTIME

if TYPE_CHECKING:
    from toolgate.workspace.root import OpenedFile, Workspace

OUTPUTS = f"{RUNTIME}/outputs"
"""Relative to the root: one directory per session."""
_OUTPUT_NAME = r"tool_\d{8}_\d{6}_[A-Za-z0-9_-]+\.(?:json|log)"


def is_output_name(name: str) -> bool:
    """Whether a file's name is one that the runtime gives to output files."""
    return re.fullmatch(_OUTPUT_NAME, name) is not None


class OwnOutputs(NamedTuple):
    """Where a session's output files are. Both paths are relative to the root."""

    shown: str
    """The output directory, which has links to them. Answers use these."""
    stored: str
    """The directory that contains the files."""


def open_output(workspace: "Workspace", directory: str, reference: str) -> "OpenedFile":
    """Open an output file. Raises `ToolError` for every other file."""
    relative = workspace.relative(reference)
    if not relative.startswith(f"{workspace.relative(directory)}/"):
        raise ToolError(ErrorCode.ACCESS_DENIED, f"{quote(reference)} is not in the directory for outputs.")
    return workspace.open_file(relative)
