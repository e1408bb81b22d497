"""Whole text files for programs and custom tools: read at once, written atomically and journalled."""

import os

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.encoding import decode_text
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.oserrors import quote
from toolgate.workspace.overwrite import plan_write
from toolgate.workspace.root import Workspace
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.threads import Stop
from toolgate.workspace.write import commit

MAX_BYTES = 64 << 20
"""Bytes of the largest file that is read at once."""


def read_text(workspace: Workspace, path: str) -> str:
    """Return the text of a file, in the encodings that `read_file` reads; line ends are not converted."""
    workspace.require_present()
    with workspace.open_file(path) as opened:
        if opened.stat.st_size > MAX_BYTES:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"{quote(path)} is larger than {MAX_BYTES >> 20} MiB, too large to be read at once.",
                "Read a part of it with 'read_file'.",
            )
        content = _all_of(opened.fd)
    return decode_text(content, path)[1]


def write_text(workspace: Workspace, path: str, text: str) -> None:
    """Create a file or replace all of one, atomically; undo takes it back. An existing file keeps its encoding."""
    if not isinstance(text, str):
        raise TypeError(f"write_text writes text, not {type(text).__name__}")
    workspace.require_present()
    stop = Stop()
    planned = plan_write(stop, workspace, path, text, SeenFiles())
    if not planned.unchanged:
        commit(stop, workspace, planned.change, Origin(tool="write_text", run=os.urandom(16).hex()))


def _all_of(fd: int) -> bytes:
    pieces: list[bytes] = []
    read = 0
    while piece := os.pread(fd, 1 << 20, read):
        pieces.append(piece)
        read += len(piece)
        if read > MAX_BYTES:
            break  # it grew while it was read; what is there is returned
    return b"".join(pieces)
