"""The connection to one server. It reconnects by itself, with growing pauses while the server is down."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.errors import ServerUnavailable, describe_failure
from toolgate.adapters.mcp_client.requests import call_tool, list_tools
from toolgate.adapters.mcp_client.tool_definition import OfferedTool, check_tools
from toolgate.log import logger
from toolgate.text.redaction import mask
from toolgate.text.visible import visible

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

    from toolgate.adapters.mcp_client.http import HttpTransport
    from toolgate.adapters.mcp_client.stdio import StdioTransport

RETRY_DELAYS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds before the next attempt, by the number of failures in a row."""
_STABLE_SECONDS = 60.0
_RELIST_SECONDS = 1.0
_DEBOUNCE_SECONDS = 0.05
_CLOSE_TIMEOUT = 15.0


class ServerConnection:
    """Connects after `start` and reconnects until `close`."""

    def __init__(
        self, config: ServerConfig, environ: Mapping[str, str], changed: Callable[[ServerConnection], object]
    ) -> None:
        self.config = config
        self._environ = environ
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._client: Client | None = None
        self._lost = asyncio.Event()
        self._stale = asyncio.Event()
        self._tried_once = asyncio.Event()
        self._failures = 0
        self._next_try = 0.0
        self._reported = ""
        self.tools: dict[str, OfferedTool] = {}
        """The tools that the server listed last, by their own names."""
        self.refused: dict[str, str] = {}
        """Tools that cannot be used, with the reason."""
        self.problem = "it is starting"
        """Why the server cannot be used, in Toolgate's own words; empty while it can."""
        self.server_message = ""
        """The server's own message about the problem: the end of its standard error, or its refusal."""

    @property
    def resting(self) -> float:
        """Seconds until the next attempt, after a first restart has failed; 0 while waiting is worthwhile."""
        if self._client is not None or self._failures < 2:
            return 0.0
        return max(0.1, self._next_try - time.monotonic())

    async def started(self) -> None:
        """Wait until the server is connected or has failed once."""
        await self._tried_once.wait()

    def start(self) -> None:
        """Start to connect in the background."""
        self._task = asyncio.create_task(self._run(), name=f"mcp:{self.config.name}")

    async def close(self) -> None:
        """End the connection, and the server's program with its child processes."""
        self._closing = True
        while self._task is not None and not self._task.done():
            self._task.cancel()
            # The libraries below may lose a cancellation that coincides with an error of their own, so cancel again.
            await asyncio.wait([self._task], timeout=_CLOSE_TIMEOUT)

    async def _run(self) -> None:
        """Connect, and reconnect after each failure."""
        while True:
            began = time.monotonic()
            await self._session()
            if self._closing:
                return
            self._failures = 1 if time.monotonic() - began > _STABLE_SECONDS else self._failures + 1
            pause = RETRY_DELAYS[min(self._failures, len(RETRY_DELAYS)) - 1]
            self._next_try = time.monotonic() + pause
            self._tried_once.set()
            self._report(pause)
            await asyncio.sleep(pause)

    def _report(self, pause: float) -> None:
        """Log the problem once per new reason."""
        if self.problem == self._reported:
            return
        self._reported = self.problem
        logger("mcp").warning(
            "mcp_server_lost",
            server=self.config.name,
            reason=self.problem,
            said=self.server_message,
            retry_in=pause,
        )

    async def call(self, tool: str, arguments: dict[str, Any], *, retry: bool) -> CallToolResult:
        """Call a tool. With `retry`, a read-only call is repeated once on a new connection if this one breaks."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        client = await self._connected()
        try:
            return await call_tool(client, tool, arguments)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED or not retry:
                raise
        await asyncio.sleep(_DEBOUNCE_SECONDS)
        return await call_tool(await self._connected(), tool, arguments)

    async def _connected(self) -> Client:
        """Wait for the connection. Raises `ServerUnavailable` if there is none for too long."""
        deadline = time.monotonic() + self.config.options.start_timeout
        while self._client is None or self._lost.is_set():
            if self.resting or time.monotonic() > deadline:
                raise ServerUnavailable(self.problem)
            await asyncio.sleep(_DEBOUNCE_SECONDS)
        return self._client

    async def _session(self) -> None:
        """Run one connection from start to end; `problem` says why it ended."""
        transport = self._transport()
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.config.options.start_timeout):
                    client = await stack.enter_async_context(self._new_client(transport))
                    await self._list(client)
                stack.push_async_callback(_cancelled, asyncio.create_task(self._subscribe(client)))
                await self._serve(client, transport)
            self._record_end(transport, "the connection was closed")
        except Exception as error:  # noqa: BLE001 - any failure of a foreign server leads to the next attempt
            self._record_end(transport, *describe_failure(error, self.config.options.start_timeout))

    def _record_end(self, transport: StdioTransport | HttpTransport, reason: str, said: str = "") -> None:
        """Record why a connection ended. The server's own message is not shown to the model."""
        self.problem = "; ".join(filter(None, (transport.problem or reason, transport.invalid_lines)))
        words = visible(transport.server_message or ("" if transport.problem else said))
        self.server_message = mask(words, self.config.secrets)

    def _transport(self) -> StdioTransport | HttpTransport:
        if self.config.url:
            from toolgate.adapters.mcp_client.http import HttpTransport

            return HttpTransport(self.config)
        from toolgate.adapters.mcp_client.stdio import StdioTransport

        return StdioTransport(self.config, self._environ)

    def _new_client(self, transport: StdioTransport | HttpTransport) -> Client:
        from mcp import Client
        from mcp_types import Implementation

        info = Implementation(name="toolgate", version=version("toolgate"))
        return Client(transport, cache=None, client_info=info, message_handler=self._on_message)

    async def _on_message(self, message: Any) -> None:
        """Handle a message that was not requested; only list changes matter."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._stale.set()

    async def _subscribe(self, client: Client) -> None:
        """Subscribe to list changes, for servers that send them only to subscribers."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._stale.set()
            except Exception as error:  # noqa: BLE001 - if the subscription fails, list changes are noticed later
                logger("mcp").info("mcp_subscription_lost", server=self.config.name, error=type(error).__name__)
            await asyncio.sleep(RETRY_DELAYS[-1])
            self._stale.set()

    async def _serve(self, client: Client, transport: StdioTransport | HttpTransport) -> None:
        """Accept calls and list the tools again after each change, until the connection is lost."""
        self._client, self._lost, self.problem = client, transport.lost, ""
        self._tried_once.set()
        try:
            while not transport.lost.is_set():
                await _wait_for_any(self._stale.wait(), transport.lost.wait())
                if self._stale.is_set() and not transport.lost.is_set():
                    self._stale.clear()
                    async with asyncio.timeout(self.config.options.timeout):
                        await self._list(client)
                    await asyncio.sleep(_RELIST_SECONDS)
        finally:
            self._client = None

    async def _list(self, client: Client) -> None:
        tools = await list_tools(client)
        self.tools, self.refused = await asyncio.to_thread(check_tools, tools)
        self._changed(self)

    def mark_healthy(self) -> None:
        """Record that a call was answered, so the server is healthy."""
        self._failures, self._reported = 0, ""


async def _wait_for_any(*waits: Any) -> None:
    """Wait for the first of them."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
