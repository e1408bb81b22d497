"""Toolgate as an MCP server: the tools of one mode, behind the same gates, for an existing agent.

Lives here: the requests of a client, the state per client, approvals through the client, and both transports.
May touch: the `mcp` package, which is imported on first use, and standard input and output or a socket.
Start reading: `server.py` (the requests), then `clients.py` (state per client) and `calls.py` (one call).
"""

from typing import TYPE_CHECKING, Any

from toolgate.extras import require_extra

if TYPE_CHECKING:
    from toolgate.adapters.mcp_server.clients import Clients
    from toolgate.adapters.mcp_server.http import http_app
    from toolgate.adapters.mcp_server.server import build_server
    from toolgate.adapters.mcp_server.stdio import serve_stdio

__all__ = ["Clients", "build_server", "http_app", "serve_stdio"]

require_extra("mcp")
_MODULES = {"Clients": "clients", "build_server": "server", "http_app": "http", "serve_stdio": "stdio"}


def __getattr__(name: str) -> Any:
    if name == "Desk":  # the name of `Clients` in earlier versions
        name = "Clients"
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
