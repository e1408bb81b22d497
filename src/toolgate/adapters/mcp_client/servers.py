"""Connects to all configured servers and keeps their tools registered."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from toolgate.adapters.mcp_client.approvals import ApprovedDefinitions
from toolgate.adapters.mcp_client.config import McpConfig, ServerConfig
from toolgate.adapters.mcp_client.connection import ServerConnection
from toolgate.adapters.mcp_client.names import exposed_name
from toolgate.adapters.mcp_client.tool import McpTool
from toolgate.adapters.mcp_client.tool_definition import OfferedTool
from toolgate.extras import require_extra
from toolgate.log import logger
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.registry import ToolRegistry

START_TIMEOUT = 10.0
"""Seconds to wait for slow servers at startup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatus:
    """One tool of a server, as `toolgate servers` shows it."""

    tool: str
    name: str
    """The name in Toolgate; empty if the tool is not visible."""
    modes: tuple[ToolMode, ...] = ()
    read_only: bool = False
    state: str = ""
    """`approved`, `new` or `changed`; empty if the tool is not visible."""
    digest: str = ""
    reason: str = ""
    """Why the tool is not visible; empty if it is."""


class Servers:
    """Keeps a registry in sync with what the servers offer and the operator grants."""

    def __init__(self, registry: ToolRegistry, approvals: ApprovedDefinitions) -> None:
        self._registry = registry
        self._approvals = approvals
        self._names: dict[str, dict[str, str]] = {}
        """Registered names by server and tool."""
        self._problems: dict[tuple[str, str], str] = {}
        self._overrides: dict[str, frozenset[ToolMode]] = {}
        """Mode overrides of tools that disappeared; they apply again if the tools come back."""
        self.connections: list[ServerConnection] = []
        self.refused: Mapping[str, str] = {}
        """Servers that cannot be used as configured, with the reason."""

    def sync(self, connection: ServerConnection) -> None:
        """Register the tools that a server offers and the operator grants; unregister the others."""
        names = self._names.setdefault(connection.config.name, {})
        for tool in [
            tool for tool in names if tool not in connection.tools or connection.config.options.grant(tool) is None
        ]:
            self._remove(names.pop(tool))
        for tool, offered in connection.tools.items():
            if connection.config.options.grant(tool) is not None:
                self._sync_tool(connection, offered, names)

    def listed(self, connection: ServerConnection) -> list[ToolStatus]:
        """List every tool of a server: how it is visible, or why it is not."""
        found = [self._tool_status(connection, offered) for offered in connection.tools.values()]
        return found + [ToolStatus(tool=tool, name="", reason=reason) for tool, reason in connection.refused.items()]

    def approve(self, connection: ServerConnection, tool: str) -> None:
        """Approve the current definition of a tool without a call."""
        self._approvals.record(connection.config, connection.tools[tool])
        self.sync(connection)

    def _sync_tool(self, connection: ServerConnection, offered: OfferedTool, names: dict[str, str]) -> None:
        grant = connection.config.options.grant(offered.tool)
        assert grant is not None
        name = exposed_name(connection.config.name, offered.tool)
        new = McpTool(name, offered, grant, connection, self._approvals)
        new.on_approved = functools.partial(self.sync, connection)
        before = self._registry.get(name)
        if offered.tool in names and isinstance(before, McpTool):
            if before.tool_definition == new.tool_definition:
                before.offered = offered
                return
            self._remove(name)
        try:
            self._registry.register(new)
        except ValueError as error:
            self._refuse(connection, offered.tool, str(error))
            names.pop(offered.tool, None)
            return
        self._problems.pop((connection.config.name, offered.tool), None)
        names[offered.tool] = name
        if name in self._overrides:
            self._registry.set_mode_override(name, self._overrides.pop(name) & new.allowed_modes)

    def _refuse(self, connection: ServerConnection, tool: str, reason: str) -> None:
        """Record why a tool is not registered, for the log and `toolgate servers`."""
        if self._problems.get((connection.config.name, tool)) != reason:
            logger("mcp").warning("mcp_tool_refused", server=connection.config.name, tool=tool[:64], reason=reason)
        self._problems[connection.config.name, tool] = reason

    def _remove(self, name: str) -> None:
        tool = self._registry.get(name)
        if not isinstance(tool, McpTool):  # someone else has unregistered or replaced it
            return
        effective = self._registry.get_effective_modes(name)
        if effective != tool.allowed_modes:
            self._overrides[name] = effective
        self._registry.unregister(name)

    def _tool_status(self, connection: ServerConnection, offered: OfferedTool) -> ToolStatus:
        name = self._names.get(connection.config.name, {}).get(offered.tool)
        tool = self._registry.get(name) if name is not None else None
        if isinstance(tool, McpTool):
            modes = tuple(sorted(self._registry.get_effective_modes(tool.name)))
            return ToolStatus(
                tool=offered.tool,
                name=tool.name,
                modes=modes,
                read_only=tool.read_only,
                state=tool.state,
                digest=offered.digest,
                reason="" if modes else "the config gives it no mode",
            )
        reason = self._problems.get((connection.config.name, offered.tool), "the config gives it no modes")
        return ToolStatus(tool=offered.tool, name="", digest=offered.digest, reason=reason)

    def clear(self) -> None:
        """Unregister every tool."""
        for names in self._names.values():
            for name in names.values():
                self._remove(name)
        self._names.clear()


@contextlib.asynccontextmanager
async def connect(
    registry: ToolRegistry,
    servers: McpConfig | Iterable[ServerConfig],
    *,
    approvals: ApprovedDefinitions | None = None,
    environ: Mapping[str, str] | None = None,
    start_timeout: float = START_TIMEOUT,
) -> AsyncIterator[Servers]:
    """Connect to all servers and register their tools while the block runs.

    A server that is not ready after `start_timeout` seconds does not block the start; its tools appear once it is.
    Without `approvals` nothing is remembered after the block. The servers' programs get an allow list of variables from
    `environ`.
    """
    configured = servers if isinstance(servers, McpConfig) else McpConfig(servers=tuple(servers))
    if configured.servers:
        require_extra("mcp")
    found = Servers(registry, approvals if approvals is not None else ApprovedDefinitions())
    found.refused = configured.refused
    for name, reason in configured.refused.items():
        logger("mcp").warning("mcp_server_refused", server=name, reason=reason)
    found.connections = [ServerConnection(config, environ or {}, found.sync) for config in configured.servers]
    try:
        for connection in found.connections:
            connection.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(start_timeout):
                await asyncio.gather(*(connection.started() for connection in found.connections))
        yield found
    finally:
        await asyncio.gather(*(connection.close() for connection in found.connections))
        found.clear()
