"""MCP over standard input and output, without threads.

At the end of the input, after SIGTERM, or when nobody reads the output, running calls are cancelled first.
"""

from __future__ import annotations

import asyncio
import importlib

from toolgate.adapters.mcp_server.clients import Clients
from toolgate.adapters.mcp_server.descriptors import LineReader, LineWriter
from toolgate.adapters.mcp_server.handshake import Handshake, shake_hands


async def serve_stdio(clients: Clients, *, stdin: int = 0, stdout: int = 1) -> None:
    """Serve one client on two descriptors until it disconnects."""
    with LineWriter(stdout) as writer, LineReader(stdin) as reader:
        writer.on_broken = reader.wake
        handshake = await shake_hands(reader, writer, clients)
        if not (handshake.has_ended and writer.is_empty):
            await _serve(clients, reader, writer, handshake)


async def _serve(clients: Clients, reader: LineReader, writer: LineWriter, handshake: Handshake) -> None:
    """Load the SDK, off the event loop, and let it continue the connection."""
    for module in ("server", "transport"):
        await asyncio.to_thread(importlib.import_module, f"toolgate.adapters.mcp_server.{module}")
    from toolgate.adapters.mcp_server.server import build_server
    from toolgate.adapters.mcp_server.transport import Incoming, Outgoing

    server = build_server(clients)
    outgoing = Outgoing(writer, handshake.answered, handshake.acknowledged)
    incoming = Incoming(reader, outgoing, handshake.lines)
    await server.run(incoming, outgoing, server.create_initialization_options())
