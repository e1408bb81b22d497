"""MCP over stdin and stdout, without threads: a line is read when it is there and written where it is answered.

At the end of stdin, after SIGTERM or when nobody reads the answers any more, what runs is taken back and ended first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from toolgate.adapters.mcp_server.clients import Desk
from toolgate.adapters.mcp_server.server import build_server
from toolgate.adapters.mcp_server.transport import Incoming, Outgoing


async def serve_stdio(desk: Desk, *, stdin: int = 0, stdout: int = 1) -> None:
    """Serve one client on two descriptors until it goes away."""
    server = build_server(desk)
    with Outgoing(stdout) as outgoing, Incoming(stdin, outgoing) as incoming:
        await server.run(incoming, outgoing, server.create_initialization_options())


@contextlib.contextmanager
def claimed_stdio() -> Iterator[tuple[int, int]]:
    """Descriptors of the wire that nothing else knows: for everybody else stdin is empty and stdout is stderr."""
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
