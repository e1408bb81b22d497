"""What the connections of one server share: the tools, the mode, and a seat for every client."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolgate.adapters.mcp_server.roots import client_roots, narrowed
from toolgate.adapters.mcp_server.storage import CallLog
from toolgate.log import logger
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.policy_source import policy_of
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.toolset import CallableToolset
from toolgate.settings import Settings
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import Declaration
from toolgate.workspace import Workspace

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

MOST = 64
"""Seats that are kept; the one that was longest idle gives way."""
IDLE = 1800.0
"""Seconds after which an unused seat is given up."""


@dataclass(slots=True, kw_only=True)
class Seat:
    """What one client keeps from call to call: a context with its shell, and what it asked to be told."""

    context: ToolContext | None = None
    narrow: Workspace | None = None
    """The part of the project that the client has chosen."""
    calls: int = 0
    """Calls that run now."""
    used: float = 0.0
    level: str | None = None
    """From which level on it wants log messages."""
    client: ServerSession | None = None
    """The way to tell it something."""
    roots_known: bool = False
    toolsets: dict[bool, CallableToolset] = field(default_factory=dict)
    """The tools with and without somebody to ask; what a single call needs beside them is made for it."""

    async def close(self) -> None:
        """End the shell and let go of the directory."""
        self.toolsets.clear()
        context, self.context = self.context, None
        narrow, self.narrow = self.narrow, None
        if context is not None:
            await context.aclose()
            if isinstance(context.recorder, CallLog):
                await context.recorder.close()
        if narrow is not None:
            narrow.close()


class Desk:
    """The tools of one mode on one project; `open_context` makes the context of a new client on a workspace."""

    def __init__(
        self,
        registry: ToolRegistry,
        mode: ToolMode,
        workspace: Workspace,
        *,
        open_context: Callable[[Workspace], ToolContext] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.registry = registry
        self.mode = mode
        self.workspace = workspace
        self.settings = settings or Settings.defaults()
        self._open = open_context or self._plain
        self._seats: dict[str, Seat] = {}
        self._lock = asyncio.Lock()

    def check(self) -> None:
        """Raise what would keep every call from running: a policy that cannot be read."""
        policy_of(ToolContext(workspace=self.workspace, mode=self.mode, settings=self.settings))

    def tools(self) -> list[Declaration]:
        """What every client is shown: exactly what it may run."""
        return self.registry.list_declarations(self.mode)

    def seat(self, ctx: ServerRequestContext[Any, Any]) -> Seat:
        """The seat of whoever sent this request."""
        key = _key(ctx)
        seat = self._seats.pop(key, None) or Seat()
        self._seats[key] = seat
        seat.used = time.monotonic()
        seat.client = ctx.session
        return seat

    @contextlib.asynccontextmanager
    async def context(self, ctx: ServerRequestContext[Any, Any]) -> AsyncIterator[tuple[Seat, ToolContext]]:
        """The context of whoever sent this request, for one call."""
        seat = self.seat(ctx)
        seat.calls += 1
        try:
            yield seat, seat.context if seat.context is not None and seat.roots_known else await self._settle(seat, ctx)
        finally:
            seat.calls -= 1
            seat.used = time.monotonic()

    def clients(self) -> list[ServerSession]:
        """Everybody who can be told something."""
        return [seat.client for seat in self._seats.values() if seat.client is not None]

    async def leave(self, key: str) -> None:
        """A client's session has ended."""
        seat = self._seats.pop(key, None)
        if seat is not None:
            await seat.close()

    async def give_up_idle(self) -> None:
        """Close the seats that nobody uses any more, and the oldest of too many."""
        now = time.monotonic()
        for number, (key, seat) in enumerate(list(self._seats.items())):
            crowded = len(self._seats) > MOST and number < len(self._seats) - MOST
            if not seat.calls and (crowded or now - seat.used > IDLE):
                await self.leave(key)

    async def close(self) -> None:
        """End every shell."""
        for key in list(self._seats):
            await self.leave(key)

    async def _settle(self, seat: Seat, ctx: ServerRequestContext[Any, Any]) -> ToolContext:
        """Open the client's context, on the part of the project that it has chosen."""
        async with self._lock:
            if not seat.roots_known:
                await self._narrow(seat, ctx)
            if seat.context is None:
                seat.context = self._open(seat.narrow or self.workspace)
                await self.give_up_idle()
            return seat.context

    async def _narrow(self, seat: Seat, ctx: ServerRequestContext[Any, Any]) -> None:
        """Ask for the client's roots and move to the one that counts, once no other call is where it was."""
        narrow = narrowed(self.workspace, await client_roots(ctx))
        same = (narrow or self.workspace).root == (seat.narrow or self.workspace).root
        busy = seat.context is not None and seat.calls > 1
        seat.roots_known = same or not busy
        if same or busy:
            if narrow is not None:
                narrow.close()
            return
        await seat.close()
        seat.narrow = narrow
        logger("mcp").info("client_root", root=str((narrow or self.workspace).root))

    def _plain(self, workspace: Workspace) -> ToolContext:
        return ToolContext(workspace=workspace, mode=self.mode, session_id=uuid7(), settings=self.settings)


def _key(ctx: ServerRequestContext[Any, Any]) -> str:
    """Who it is: a session of HTTP; or who has none: the client of stdio, and over HTTP those without sessions."""
    if ctx.request is None or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""  # what such a request says about a session, nobody has checked
    return str(ctx.request.headers.get("mcp-session-id", ""))
