"""The MCP client: tools of other people's servers, behind the same gates as every other tool."""

from toolgate.adapters.mcp_client.approvals import Approvals
from toolgate.adapters.mcp_client.config import (
    Configured,
    Gate,
    Grant,
    ServerConfig,
    parse_servers,
    read_servers,
)
from toolgate.adapters.mcp_client.configured import connect_configured
from toolgate.adapters.mcp_client.servers import Listed, Servers, connect

__all__ = [
    "Approvals",
    "Configured",
    "Gate",
    "Grant",
    "Listed",
    "ServerConfig",
    "Servers",
    "connect",
    "connect_configured",
    "parse_servers",
    "read_servers",
]
