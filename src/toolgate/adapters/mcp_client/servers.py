"""All configured servers: their tools in a registry, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from toolgate.adapters.mcp_client.approvals import Approvals
from toolgate.adapters.mcp_client.config import Configured, ServerConfig
from toolgate.adapters.mcp_client.connection import Link
from toolgate.adapters.mcp_client.names import exposed_name
from toolgate.adapters.mcp_client.tool import McpTool
from toolgate.adapters.mcp_client.tool_definition import Offer
from toolgate.log import logger
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.registry import ToolRegistry

PATIENCE = 10.0
"""Seconds that a start waits for servers that are slow to come up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One tool of a server, as `toolgate servers` shows it."""

    tool: str
    name: str
    """The name that it has here; empty if it is not visible."""
    modes: tuple[ToolMode, ...] = ()
    read_only: bool = False
    state: str = ""
    """`approved`, `new` or `changed`; empty if it is not visible."""
    digest: str = ""
    reason: str = ""
    """Why it is not visible; empty if it is."""


class Servers:
    """Keeps a registry in step with what the servers offer and the operator grants."""

    def __init__(self, registry: ToolRegistry, approvals: Approvals) -> None:
        self._registry = registry
        self._approvals = approvals
        self._names: dict[str, dict[str, str]] = {}
        """Server and tool to the name that it is registered under."""
        self._problems: dict[tuple[str, str], str] = {}
        self._tightened: dict[str, frozenset[ToolMode]] = {}
        """Overrides of tools that their server has taken away: should they come back, they hold."""
        self.links: list[Link] = []
        self.refused: Mapping[str, str] = {}
        """Servers that cannot be used as they are configured, with the reason."""

    def sync(self, link: Link) -> None:
        """Register what a server offers and the operator grants; take away what is offered no more."""
        names = self._names.setdefault(link.config.name, {})
        for tool in [tool for tool in names if tool not in link.offers or link.config.gate.grant(tool) is None]:
            self._remove(names.pop(tool))
        for tool, offer in link.offers.items():
            if link.config.gate.grant(tool) is not None:
                self._offer(link, offer, names)

    def listed(self, link: Link) -> list[Listed]:
        """Every tool of a server: how it is visible, or why it is not."""
        found = [self._listed(link, offer) for offer in link.offers.values()]
        return found + [Listed(tool=tool, name="", reason=reason) for tool, reason in link.refused.items()]

    def approve(self, link: Link, tool: str) -> None:
        """Approve what a server says about a tool now, without a call."""
        self._approvals.record(link.config, link.offers[tool])
        self.sync(link)

    def _offer(self, link: Link, offer: Offer, names: dict[str, str]) -> None:
        grant = link.config.gate.grant(offer.tool)
        assert grant is not None
        name = exposed_name(link.config.name, offer.tool)
        new = McpTool(name, offer, grant, link, self._approvals)
        new.approved_now = functools.partial(self.sync, link)
        before = self._registry.get(name)
        if offer.tool in names and isinstance(before, McpTool):
            if before.tool_definition == new.tool_definition:
                before.offer = offer
                return
            self._remove(name)
        try:
            self._registry.register(new)
        except ValueError as error:
            self._refuse(link, offer.tool, str(error))
            names.pop(offer.tool, None)
            return
        self._problems.pop((link.config.name, offer.tool), None)
        names[offer.tool] = name
        if name in self._tightened:
            self._registry.set_mode_override(name, self._tightened.pop(name) & new.allowed_modes)

    def _refuse(self, link: Link, tool: str, reason: str) -> None:
        """Note why a tool is not registered; the operator reads it in the log and in `toolgate servers`."""
        if self._problems.get((link.config.name, tool)) != reason:
            logger("mcp").warning("mcp_tool_refused", server=link.config.name, tool=tool[:64], reason=reason)
        self._problems[link.config.name, tool] = reason

    def _remove(self, name: str) -> None:
        tool = self._registry.get(name)
        if not isinstance(tool, McpTool):  # somebody else took it away
            return
        effective = self._registry.get_effective_modes(name)
        if effective != tool.allowed_modes:
            self._tightened[name] = effective
        self._registry.unregister(name)

    def _listed(self, link: Link, offer: Offer) -> Listed:
        name = self._names.get(link.config.name, {}).get(offer.tool)
        tool = self._registry.get(name) if name is not None else None
        if isinstance(tool, McpTool):
            modes = tuple(sorted(self._registry.get_effective_modes(tool.name)))
            return Listed(
                tool=offer.tool,
                name=tool.name,
                modes=modes,
                read_only=tool.read_only,
                state=tool.state,
                digest=offer.digest,
                reason="" if modes else "the config gives it no mode",
            )
        reason = self._problems.get((link.config.name, offer.tool), "the config gives it no modes")
        return Listed(tool=offer.tool, name="", digest=offer.digest, reason=reason)

    def clear(self) -> None:
        """Take every tool away."""
        for names in self._names.values():
            for name in names.values():
                self._remove(name)
        self._names.clear()


@contextlib.asynccontextmanager
async def connect(
    registry: ToolRegistry,
    servers: Configured | Iterable[ServerConfig],
    *,
    approvals: Approvals | None = None,
    environ: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> AsyncIterator[Servers]:
    """Connect to all servers and register their tools, for as long as the block lasts.

    A server that has not come up after `patience` seconds keeps nobody from starting: its tools appear when it does.
    Without `approvals` nothing is remembered beyond the block. `environ` is what an allow list is taken from for the
    servers' programs.
    """
    configured = servers if isinstance(servers, Configured) else Configured(servers=tuple(servers))
    found = Servers(registry, approvals if approvals is not None else Approvals())
    found.refused = configured.refused
    for name, reason in configured.refused.items():
        logger("mcp").warning("mcp_server_refused", server=name, reason=reason)
    found.links = [Link(config, environ or {}, found.sync) for config in configured.servers]
    try:
        for link in found.links:
            link.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await asyncio.gather(*(link.started() for link in found.links))
        yield found
    finally:
        await asyncio.gather(*(link.close() for link in found.links))
        found.clear()
