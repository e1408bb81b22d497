"""Toolgate as an MCP server: the tools of one mode, behind the same gates, for an agent that already exists.

Nothing of the MCP package is imported before one of these names is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.adapters.mcp_server.clients import Desk
    from toolgate.adapters.mcp_server.http import http_app
    from toolgate.adapters.mcp_server.server import build_server
    from toolgate.adapters.mcp_server.stdio import serve_stdio

__all__ = ["Desk", "build_server", "http_app", "serve_stdio"]

_PLACES = {"Desk": "clients", "build_server": "server", "http_app": "http", "serve_stdio": "stdio"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
