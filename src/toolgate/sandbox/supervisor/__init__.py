"""The supervisor for machines without bubblewrap: one script for a bare Python, joined from small modules.

It runs as `python -I -S`, imports only the standard library, and is the parent of the command. So the host process
neither runs Python code between fork and exec nor adopts orphans.
"""

import re
from functools import cache
from pkgutil import get_data

_MODULES = ("kernel", "call_numbers", "landlock", "seccomp", "mounts", "supervise", "main")
_FROM_US = re.compile(rf"^from {re.escape(__name__)}\.\w+ import (?:\([^)]*\)|[^(\n]*)$", re.MULTILINE)


@cache
def source() -> bytes:
    """Return the supervisor as one script."""
    texts = ((get_data(__name__, f"{name}.py") or b"").decode() for name in _MODULES)
    return ("\n".join(_FROM_US.sub("", text) for text in texts) + "\nmain()\n").encode()
