"""Programs that a command runs inside the sandbox, and what they report."""

import textwrap
from itertools import product
from typing import get_args

import pytest

from toolgate.protocol.plan import Access
from toolgate.shell.result import CommandResult

VIEWS = ("bwrap", "namespaces")

CONFINED = pytest.mark.parametrize("layer", [*VIEWS, "landlock"], indirect=True)

VIEWED = pytest.mark.parametrize("layer", VIEWS, indirect=True)

EVERY_ACCESS = pytest.mark.parametrize(
    ("layer", "access"),
    [*product(VIEWS, get_args(Access)), ("landlock", "read"), ("landlock", "full")],
    indirect=["layer"],
)


PRELUDE = """
import ctypes, errno, fcntl, os, platform, shutil, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
machine = 0 if platform.machine() == "x86_64" else 1
def call(numbers, *arguments):
    result = libc.syscall(ctypes.c_long(numbers[machine]), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")
    return result
def attempt(name, function):
    try:
        function()
    except OSError as error:
        print(name, errno.errorcode[error.errno])
    else:
        print(name, "worked")
temporary = os.environ["TMPDIR"]
"""


def python(*parts: str) -> str:
    """A command that runs this in the system's Python."""
    body = "\n".join(map(textwrap.dedent, (PRELUDE, *parts)))
    return f"/usr/bin/env -u PYTHONPATH python3 -I - <<'END'\n{body}\nEND"


def outcomes(result: CommandResult) -> dict[str, str]:
    """What was tried → how it ended."""
    assert result.exit_code == 0, result.stderr
    return dict(line.rsplit(" ", 1) for line in result.stdout.splitlines())
