"""Reads all of standard input, up to a limit."""

import os
import select
import stat
import sys

from toolgate.cli.errors import UsageError
from toolgate.language.translate import translate

MAX_BYTES = 4 << 20
SILENT_SECONDS = 3.0
"""Seconds to wait for the first byte of a pipe before it counts as empty."""


def read_stdin() -> str:
    """Return everything on standard input. Raises `UsageError` if it is too long or not UTF-8."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(translate("stdin is longer than {max_bytes} bytes", max_bytes=f"{MAX_BYTES:,}"))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(translate("stdin is not UTF-8 (byte {start})", start=error.start)) from None


def piped_text() -> str:
    """Return what a pipe or a file on standard input holds; empty if there is neither, or nothing comes for a while.

    A script may leave its own input open and send nothing: that must not block the command.
    """
    try:
        kind = stat.S_IFMT(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return ""
    if kind == stat.S_IFREG or (kind == stat.S_IFIFO and select.select([sys.stdin], [], [], SILENT_SECONDS)[0]):
        return read_stdin()
    return ""
