"""The command that starts the supervisor with an order."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from toolgate.process.executables import find_interpreter
from toolgate.sandbox import supervisor
from toolgate.sandbox.layer import Wrapper, memory_file

MARSHAL = 2
"""A version that every Python 3 reads: the supervisor may run in another one."""


def supervisor_call(order: Mapping[str, Any], info_fd: int) -> Wrapper:
    """Return the supervisor's command. The caller closes its descriptors."""
    interpreter = supervisor_interpreter()
    same = interpreter == os.path.realpath(sys.executable)
    script = memory_file("supervisor", supervisor.compiled() if same else supervisor.source())
    try:
        text = memory_file("order", marshal.dumps(dict(order), MARSHAL))
    except OSError:
        os.close(script)
        raise
    words = [
        interpreter,
        "-I",
        "-S",
        f"/dev/fd/{script}",
        str(script),
        str(text),
        str(info_fd),
        str(os.getpid()),
    ]
    return Wrapper(words, (script, text))


def supervisor_interpreter() -> str:
    """Return the Python that the supervisor runs in."""
    return _interpreter(os.geteuid())


@cache
def _interpreter(_user: int) -> str:
    """Return a Python for the supervisor. It is looked up once per user."""
    return find_interpreter()
