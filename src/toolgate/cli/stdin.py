"""Reading all of standard input, up to a limit."""

import sys

from toolgate.cli.guard import UsageError

MOST_BYTES = 4 << 20


def read_stdin() -> str:
    """Return everything on standard input. Raises `UsageError` if it is too long or not UTF-8."""
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(f"stdin is longer than {MOST_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8 (byte {error.start})") from None
