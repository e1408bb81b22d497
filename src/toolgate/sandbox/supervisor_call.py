"""The command that starts the supervisor with an order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache

from toolgate.process.executables import find_interpreter
from toolgate.sandbox import supervisor
from toolgate.sandbox.layer import Wrapper, memory_file


def supervisor_call(order: Mapping[str, object], info_fd: int) -> Wrapper:
    """Return the supervisor's command. The caller closes its descriptors."""
    script = memory_file("supervisor", supervisor.source())
    try:
        text = memory_file("order", json.dumps(order).encode())
    except OSError:
        os.close(script)
        raise
    words = [
        _interpreter(os.geteuid()),
        "-I",
        "-S",
        f"/dev/fd/{script}",
        str(script),
        str(text),
        str(info_fd),
        str(os.getpid()),
    ]
    return Wrapper(words, (script, text))


@cache
def _interpreter(_user: int) -> str:
    """Return a Python for the supervisor. It is looked up once per user."""
    return find_interpreter()
