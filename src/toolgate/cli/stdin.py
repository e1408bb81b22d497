"""Reads all of standard input, up to a limit."""

import sys

from toolgate.cli.errors import UsageError

MAX_BYTES = 4 << 20


def read_stdin() -> str:
    """Return everything on standard input. Raises `UsageError` if it is too long or not UTF-8."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"stdin is longer than {MAX_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8 (byte {error.start})") from None
