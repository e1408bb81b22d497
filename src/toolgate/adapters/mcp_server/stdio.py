"""MCP over standard input and output, without threads.

At the end of the input, after SIGTERM, or when nobody reads the output, running calls are cancelled first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from toolgate.adapters.mcp_server.clients import Clients
from toolgate.adapters.mcp_server.server import build_server
from toolgate.adapters.mcp_server.transport import Incoming, Outgoing


async def serve_stdio(clients: Clients, *, stdin: int = 0, stdout: int = 1) -> None:
    """Serve one client on two descriptors until it disconnects."""
    server = build_server(clients)
    with Outgoing(stdout) as outgoing, Incoming(stdin, outgoing) as incoming:
        await server.run(incoming, outgoing, server.create_initialization_options())


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
