"""The supervisor for machines without bubblewrap: one script for a bare Python, joined from small modules.

Lives here: namespaces, mounts, Landlock and seccomp, for the parent process of a command. It runs as `python -I -S` and
imports as little as it can: `typing`, `json` and `enum` take longer than everything that it does.
May touch: processes and the kernel. The runtime itself neither runs Python between fork and exec nor adopts orphans.
Start reading: `main.py`, then `confine.py` (one command) and `serve.py` (the fork server, which a session starts once).
"""

import marshal
import re
from functools import cache
from importlib.util import MAGIC_NUMBER
from pkgutil import get_data

_MODULES = (
    *("kernel", "call_numbers", "landlock", "seccomp", "mounts", "supervise", "messages", "traces", "init", "confine"),
    *("serve", "main"),
)
_FROM_US = re.compile(rf"^from {re.escape(__name__)}\.\w+ import (?:\([^)]*\)|[^(\n]*)$", re.MULTILINE)
_TYPING = re.compile(r"^from typing import [^(\n]*$", re.MULTILINE)
_SIGNAL = re.compile(r"^import signal$", re.MULTILINE)


@cache
def source() -> bytes:
    """Return the supervisor as one script. No annotation is evaluated, and signals are plain numbers."""
    texts = ((get_data(__name__, f"{name}.py") or b"").decode() for name in _MODULES)
    text = "\n".join(_FROM_US.sub("", text) for text in texts)
    text = _SIGNAL.sub("import _signal as signal", _TYPING.sub("", text))
    return f"from __future__ import annotations\n{text}\nmain()\n".encode()


@cache
def compiled() -> bytes:
    """Return the script as a compiled file for the Python that runs now."""
    code = compile(source(), "<supervisor>", "exec", dont_inherit=True, optimize=0)
    return MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
