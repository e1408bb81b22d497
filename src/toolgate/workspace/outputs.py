"""Whole outputs, opened by what a result calls them."""

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote
from toolgate.workspace.root import OpenedFile, Workspace


def open_output(workspace: Workspace, directory: str, reference: str) -> OpenedFile:
    """Open a file of the directory for outputs; `ToolError` for everything that is not one, whoever refers to it."""
    relative = workspace.relative(reference)
    if not relative.startswith(f"{workspace.relative(directory)}/"):
        raise ToolError(ErrorCode.ACCESS_DENIED, f"{quote(reference)} is not in the directory for outputs.")
    return workspace.open_file(relative)
