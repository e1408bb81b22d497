"""Connects to the servers in the user's config file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from importlib.util import find_spec

from toolgate.adapters.mcp_client.approvals import ApprovedDefinitions
from toolgate.adapters.mcp_client.config import McpConfig, read_servers
from toolgate.adapters.mcp_client.servers import START_TIMEOUT, Servers, connect
from toolgate.errors import ConfigError
from toolgate.extras import EXTRAS
from toolgate.process.executables import safe_path
from toolgate.runtime.registry import ToolRegistry
from toolgate.settings import Settings
from toolgate.userfiles import users_approvals, users_servers


def load_config(settings: Settings, root: str) -> McpConfig:
    """Read the user's config. A file that the settings name must exist. Raises `ConfigError` if it is invalid."""
    path = settings.mcp_config
    found = read_servers(path, os.environ, root)
    if path is not None and not path.exists() and path != users_servers(os.environ):
        raise ConfigError([f"{path}: there is no such file. Create it, or unset TOOLGATE_MCP_CONFIG"])
    missing = [package for package in EXTRAS["mcp"] if find_spec(package) is None] if found.servers else []
    if missing:
        raise ConfigError([f"{path}: MCP servers need the package {missing[0]}: pip install 'toolgate[mcp]'"])
    return found


@contextlib.asynccontextmanager
async def connect_configured(
    registry: ToolRegistry, settings: Settings, root: str, *, start_timeout: float = START_TIMEOUT
) -> AsyncIterator[Servers]:
    """Register the tools of the user's servers while the block runs."""
    found = load_config(settings, root)
    approvals = ApprovedDefinitions(users_approvals(os.environ) if found.servers else None)
    environ = {**os.environ, "PATH": os.pathsep.join(safe_path(os.environ.get("PATH"), (root,)))}
    async with connect(registry, found, approvals=approvals, environ=environ, start_timeout=start_timeout) as servers:
        yield servers
