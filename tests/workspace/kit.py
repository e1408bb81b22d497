"""Somebody who exchanges directories and links while a call runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.arena import Arena

SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = sys.argv[1].encode(), sys.argv[2].encode()
print("swapping", flush=True)
while os.getppid() == int(sys.argv[3]):
    for _ in range(1000):
        libc.syscall(316, -100, one, -100, other, 2)
"""


@contextmanager
def swapper(arena: Arena) -> Iterator[None]:
    """A process that exchanges the real directory `d` and a link to the outside as fast as it can."""
    (arena.root / "d").mkdir()
    (arena.root / "d" / "secret.txt").write_text("harmless\n")
    (arena.root / "d" / "f").write_text("0\n")
    (arena.root / "e").symlink_to(arena.evil)
    arena.own()
    command = [sys.executable, "-c", SWAPPER, str(arena.root / "d"), str(arena.root / "e"), str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"swapping\n"
        try:
            yield
        finally:
            process.kill()
