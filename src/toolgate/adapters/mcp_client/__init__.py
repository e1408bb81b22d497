"""The MCP client: registers the tools of other people's servers, behind the same gates as every other tool.

Lives here: configuration, connections, approved definitions, and a server's results as responses.
May touch: server programs, through `sandbox/` and `process/`, and HTTP connections.
Start reading: `servers.py` (all servers), then `connection.py` (one server) and `tool.py` (one tool).
"""

from toolgate.adapters.mcp_client.approvals import ApprovedDefinitions
from toolgate.adapters.mcp_client.config import (
    Grant,
    McpConfig,
    ServerConfig,
    ServerOptions,
    parse_servers,
    read_servers,
)
from toolgate.adapters.mcp_client.configured import connect_configured
from toolgate.adapters.mcp_client.servers import Servers, ToolStatus, connect

__all__ = [
    "ApprovedDefinitions",
    "Grant",
    "McpConfig",
    "ServerConfig",
    "ServerOptions",
    "Servers",
    "ToolStatus",
    "connect",
    "connect_configured",
    "parse_servers",
    "read_servers",
]
