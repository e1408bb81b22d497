"""The server: which requests of MCP are answered, and by whom."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from toolgate.adapters.mcp_server.calls import Calls
from toolgate.adapters.mcp_server.clients import Desk
from toolgate.adapters.mcp_server.listing import described
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions


class _Handlers:
    """What is done about each request."""

    def __init__(self, desk: Desk, bus: InMemorySubscriptionBus) -> None:
        self.desk = desk
        self.calls = Calls(desk)
        self._bus = bus
        self._shown = self._listing()
        self._telling: asyncio.Task[None] | None = None

    async def list_tools(self, ctx: ServerRequestContext[Any, Any], params: Any) -> dict[str, Any]:
        self.desk.seat(ctx)
        return {"tools": self._listing(), "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def set_level(self, ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams) -> None:
        self.desk.seat(ctx).level = params.level

    async def roots_changed(self, ctx: ServerRequestContext[Any, Any], params: Any) -> None:
        self.desk.seat(ctx).roots_known = False

    def changed(self, loop: asyncio.AbstractEventLoop) -> None:
        """The registry has changed, in whatever thread: tell it on the loop, once for many changes."""
        loop.call_soon_threadsafe(self._tell_soon)

    def _tell_soon(self) -> None:
        if self._telling is None:
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        self._telling = None
        shown = self._listing()
        if shown == self._shown:
            return
        self._shown = shown
        for client in self.desk.clients():
            await client.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())

    def _listing(self) -> list[dict[str, Any]]:
        return [described(tool) for tool in self.desk.tools()]


class _Server(Server[Any]):
    """A server whose list of tools may change, whatever the transport."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> InitializationOptions:
        """What a client is told first."""
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True), *more, **named
        )


def build_server(desk: Desk) -> Server[Any]:
    """A server for the clients of `desk`; the transport enters its lifespan, which ends every shell."""
    bus = InMemorySubscriptionBus()

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        end = desk.registry.on_change(lambda: handlers.changed(loop))
        try:
            yield
        finally:
            end()
            await handlers.calls.close()
            await desk.close()

    server = _Server(
        "toolgate",
        version=importlib.metadata.version("toolgate"),
        title="Toolgate",
        instructions=load_text(__file__),
        lifespan=lifespan,
        on_subscriptions_listen=ListenHandler(bus),
    )
    handlers = _Handlers(desk, bus)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, handlers.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, handlers.calls.call)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_level)
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, handlers.roots_changed
    )
    return server
