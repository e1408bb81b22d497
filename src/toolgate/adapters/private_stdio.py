"""Standard input and output for a protocol alone: nothing else in the process can write into it by accident."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def private_stdio() -> Iterator[tuple[int, int]]:
    """Yield private descriptors for the protocol. For all other code stdin is empty and stdout goes to stderr."""
    stdin, stdout = os.dup(0), os.dup(1)
    empty, writer = os.pipe()
    os.close(writer)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    try:
        yield stdin, stdout
    finally:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.close(stdin)
        os.close(stdout)
