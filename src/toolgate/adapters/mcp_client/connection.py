"""The connection to one server: kept up by itself, with longer and longer pauses while the server does not come up."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.failures import Unavailable, reason_of
from toolgate.adapters.mcp_client.requests import called, listed
from toolgate.adapters.mcp_client.tool_definition import Offer, checked
from toolgate.log import logger
from toolgate.text.redaction import mask
from toolgate.text.visible import visible

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

    from toolgate.adapters.mcp_client.http import HttpTransport
    from toolgate.adapters.mcp_client.stdio import StdioTransport

PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds before the next try, by the number of failures in a row."""
_STEADY = 60.0
_RELIST = 1.0
_MOMENT = 0.05
_LOST_CANCEL = 15.0


class Link:
    """Whoever makes one calls `start`, and later `close`."""

    def __init__(self, config: ServerConfig, environ: Mapping[str, str], changed: Callable[[Link], object]) -> None:
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
        self.offers: dict[str, Offer] = {}
        """The tools that it listed last, by their own names."""
        self.refused: dict[str, str] = {}
        """Tools that it listed and that cannot be used, with the reason."""
        self.trouble = "it is starting"
        """Why it cannot be used, in words of our own; empty while it can."""
        self.complaints = ""
        """What the server itself had to say about that: the end of its standard error, or its refusal."""

    @property
    def resting(self) -> float:
        """Seconds until the next try, once a first restart did not help; 0 while it is worth waiting for."""
        if self._client is not None or self._failures < 2:
            return 0.0
        return max(0.1, self._next_try - time.monotonic())

    async def started(self) -> None:
        """Wait until it is up, or has failed once."""
        await self._tried_once.wait()

    def start(self) -> None:
        """Begin to connect."""
        self._task = asyncio.create_task(self._run(), name=f"mcp:{self.config.name}")

    async def close(self) -> None:
        """End the connection, and the server's program with everything that it has started."""
        self._closing = True
        while self._task is not None and not self._task.done():
            self._task.cancel()
            # libraries below may lose a cancellation that meets an error of their own: then it is cancelled again
            await asyncio.wait([self._task], timeout=_LOST_CANCEL)

    async def _run(self) -> None:
        """Connect, and connect again."""
        while True:
            began = time.monotonic()
            await self._session()
            if self._closing:
                return
            self._failures = 1 if time.monotonic() - began > _STEADY else self._failures + 1
            pause = PAUSES[min(self._failures, len(PAUSES)) - 1]
            self._next_try = time.monotonic() + pause
            self._tried_once.set()
            self._report(pause)
            await asyncio.sleep(pause)

    def _report(self, pause: float) -> None:
        """Tell the operator, once for every new reason."""
        if self.trouble == self._reported:
            return
        self._reported = self.trouble
        logger("mcp").warning(
            "mcp_server_lost",
            server=self.config.name,
            reason=self.trouble,
            said=self.complaints,
            retry_in=pause,
        )

    async def call(self, tool: str, arguments: dict[str, Any], *, again: bool) -> CallToolResult:
        """Call a tool. `again`: once more on a new connection, should this one break; only for what changes nothing."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        client = await self._connected()
        try:
            return await called(client, tool, arguments)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED or not again:
                raise
        await asyncio.sleep(_MOMENT)
        return await called(await self._connected(), tool, arguments)

    async def _connected(self) -> Client:
        """The connection; `Unavailable` if there is none for too long."""
        deadline = time.monotonic() + self.config.gate.start_timeout
        while self._client is None or self._lost.is_set():
            if self.resting or time.monotonic() > deadline:
                raise Unavailable(self.trouble)
            await asyncio.sleep(_MOMENT)
        return self._client

    async def _session(self) -> None:
        """One connection, from its beginning to its end; `trouble` says why it ended."""
        transport = self._transport()
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.config.gate.start_timeout):
                    client = await stack.enter_async_context(self._new_client(transport))
                    await self._list(client)
                stack.push_async_callback(_cancelled, asyncio.create_task(self._listen(client)))
                await self._serve(client, transport)
            self._down(transport, "the connection was closed")
        except Exception as error:  # noqa: BLE001 - whatever a foreign server makes fail, this goes on with the next try
            self._down(transport, *reason_of(error, self.config.gate.start_timeout))

    def _down(self, transport: StdioTransport | HttpTransport, reason: str, said: str = "") -> None:
        """Note why a connection is no more; what the server itself says about it is not for the model."""
        self.trouble = "; ".join(filter(None, (transport.trouble or reason, transport.noise)))
        words = visible(transport.complaints or ("" if transport.trouble else said))
        self.complaints = mask(words, self.config.secrets)

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
        return Client(transport, cache=None, client_info=info, message_handler=self._hear)

    async def _hear(self, message: Any) -> None:
        """Of all that a server says unasked, only this matters."""
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._stale.set()

    async def _listen(self, client: Client) -> None:
        """The same, for servers that say it only to those who subscribe."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._stale.set()
            except Exception as error:  # noqa: BLE001 - a server that cannot do what it offers is only slower to notice
                logger("mcp").info("mcp_subscription_lost", server=self.config.name, error=type(error).__name__)
            await asyncio.sleep(PAUSES[-1])
            self._stale.set()

    async def _serve(self, client: Client, transport: StdioTransport | HttpTransport) -> None:
        """Let calls through, and list again whenever the list has changed, until the connection is lost."""
        self._client, self._lost, self.trouble = client, transport.lost, ""
        self._tried_once.set()
        try:
            while not transport.lost.is_set():
                await _first(self._stale.wait(), transport.lost.wait())
                if self._stale.is_set() and not transport.lost.is_set():
                    self._stale.clear()
                    async with asyncio.timeout(self.config.gate.timeout):
                        await self._list(client)
                    await asyncio.sleep(_RELIST)
        finally:
            self._client = None

    async def _list(self, client: Client) -> None:
        tools = await listed(client)
        self.offers, self.refused = await asyncio.to_thread(checked, tools)
        self._changed(self)

    def worked(self) -> None:
        """A call was answered: the server is well."""
        self._failures, self._reported = 0, ""


async def _first(*waits: Any) -> None:
    """Wait for any of them."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
