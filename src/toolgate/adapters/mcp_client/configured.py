"""The servers that the user has configured, connected."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from importlib.util import find_spec

from toolgate.adapters.mcp_client.approvals import Approvals
from toolgate.adapters.mcp_client.config import Configured, read_servers
from toolgate.adapters.mcp_client.servers import PATIENCE, Servers, connect
from toolgate.errors import ConfigError
from toolgate.process.executables import safe_path
from toolgate.runtime.registry import ToolRegistry
from toolgate.settings import Settings
from toolgate.userfiles import users_approvals, users_servers


def configured(settings: Settings, root: str) -> Configured:
    """What the user's file says; one that was named must be there. `ConfigError` says what is wrong."""
    path = settings.mcp_config
    found = read_servers(path, os.environ, root)
    if path is not None and not path.exists() and path != users_servers(os.environ):
        raise ConfigError([f"{path}: there is no such file. Make it, or unset TOOLGATE_MCP_CONFIG"])
    if found.servers and find_spec("mcp") is None:
        raise ConfigError([f"{path}: MCP servers need the package mcp: pip install 'toolgate[mcp]'"])
    return found


@contextlib.asynccontextmanager
async def connect_configured(
    registry: ToolRegistry, settings: Settings, root: str, *, patience: float = PATIENCE
) -> AsyncIterator[Servers]:
    """Register the tools of the user's servers, for as long as the block lasts."""
    found = configured(settings, root)
    approvals = Approvals(users_approvals(os.environ) if found.servers else None)
    environ = {**os.environ, "PATH": os.pathsep.join(safe_path(os.environ.get("PATH"), (root,)))}
    async with connect(registry, found, approvals=approvals, environ=environ, patience=patience) as servers:
        yield servers
