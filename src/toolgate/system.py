"""What the operating system offers. Confining files and commands needs Linux; the rest runs everywhere.

A flag that a system lacks is 0 here, so that modules can be imported. Nothing is opened with it: `require_linux` comes
first.
"""

from __future__ import annotations

import os
import sys

try:
    import fcntl as fcntl
    import termios as termios
except ModuleNotFoundError:  # Windows
    fcntl = termios = None  # type: ignore[assignment]

O_BINARY: int = getattr(os, "O_BINARY", 0)
O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
O_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
O_NOCTTY: int = getattr(os, "O_NOCTTY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
O_PATH: int = getattr(os, "O_PATH", 0)


def is_linux() -> bool:
    """Whether files and commands can be confined here."""
    return sys.platform == "linux"


def linux_only(what: str) -> str:
    """Return the sentence about a part that does not work here."""
    return (
        f"{what} needs Linux, and this is {sys.platform}. Custom tools, models, the chat without files and commands, "
        "and MCP servers work here; for the rest use Linux, a container or WSL."
    )


def require_linux(what: str) -> None:
    """Raise `UnsupportedPlatform` on a system that cannot confine `what`."""
    if not is_linux():
        from toolgate.errors import UnsupportedPlatform  # a worker of a search starts without it

        raise UnsupportedPlatform(linux_only(what))
