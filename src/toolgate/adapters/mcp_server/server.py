"""The MCP server: maps requests to their handlers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from toolgate.adapters.mcp_server.calls import Calls
from toolgate.adapters.mcp_server.clients import Clients
from toolgate.adapters.mcp_server.server_info import INSTRUCTIONS, NAME, TITLE, version

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions


class _Handlers:
    """The request handlers."""

    def __init__(self, clients: Clients, bus: InMemorySubscriptionBus) -> None:
        self.clients = clients
        self.calls = Calls(clients)
        self._bus = bus
        self._announced = self._listing()
        self._notifying: asyncio.Task[None] | None = None

    async def list_tools(self, ctx: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        self.clients.client(ctx)
        return {"tools": self._listing(), "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def set_level(self, ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams) -> None:
        self.clients.client(ctx).level = params.level

    async def roots_changed(self, ctx: ServerRequestContext[Any, Any], params: Any) -> None:
        self.clients.client(ctx).roots_known = False

    def changed(self, loop: asyncio.AbstractEventLoop) -> None:
        """Schedule a notification after the registry has changed, from any thread and once for many changes."""
        loop.call_soon_threadsafe(self._notify_soon)

    def _notify_soon(self) -> None:
        if self._notifying is None:
            self._notifying = asyncio.get_running_loop().create_task(self._notify())

    async def _notify(self) -> None:
        self._notifying = None
        listing = self._listing()
        if listing == self._announced:
            return
        self._announced = listing
        for session in self.clients.sessions():
            await session.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())

    def _listing(self) -> list[dict[str, Any]]:
        return self.clients.tool_entries()


class _Server(Server[Any]):
    """A server that announces changes of its tool list on every transport."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> InitializationOptions:
        """Return what the client receives at initialization."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True), *more, **named
        )


def build_server(clients: Clients) -> Server[Any]:
    """Create a server for `clients`. The transport enters its lifespan, which closes every shell at the end."""
    bus = InMemorySubscriptionBus()

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        unsubscribe = clients.registry.on_change(lambda: handlers.changed(loop))
        try:
            yield
        finally:
            unsubscribe()
            await handlers.calls.close()
            await clients.close()

    server = _Server(
        NAME,
        version=version(),
        title=TITLE,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_subscriptions_listen=ListenHandler(bus),
    )
    handlers = _Handlers(clients, bus)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, handlers.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, handlers.calls.call)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, handlers.roots_changed
    )
    return server
