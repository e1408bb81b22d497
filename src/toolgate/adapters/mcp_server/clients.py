"""The clients of one server: the shared tools and mode, and the state of each client."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate.adapters.mcp_server.listing import tool_entry
from toolgate.adapters.mcp_server.storage import ClientRecorder
from toolgate.log import logger
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.policy_source import file_stamp, policy_of
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.toolset import CallableToolset
from toolgate.settings import Settings
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import Declaration
from toolgate.workspace import Workspace

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.shared.exceptions import MCPError

MAX_CLIENTS = 64
"""Maximum number of clients whose state is kept; the one idle for longest is closed first."""
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with `initialize`."""
_NEW_RULES = (
    "The user's policy has new rules about paths, which count from the project's root. "
    "Call again when this client's other calls have ended."
)
IDLE_SECONDS = 1800.0
"""Seconds after which the state of an unused client is closed."""


@dataclass(slots=True, kw_only=True)
class ClientState:
    """State that one client keeps between calls: a context with its shell, and its subscriptions."""

    context: ToolContext | None = None
    workspace: Workspace | None = None
    """The part of the project that the client selected with its roots."""
    calls: int = 0
    """Number of running calls."""
    last_used: float = 0.0
    level: str | None = None
    """The lowest level of log messages that the client wants."""
    session: ServerSession | None = None
    """The connection for sending messages to the client."""
    roots_known: bool = False
    toolsets: dict[bool, CallableToolset] = field(default_factory=dict)
    """Toolsets with and without an approver."""

    async def close(self) -> None:
        """Close the shell and the directory."""
        self.toolsets.clear()
        context, self.context = self.context, None
        workspace, self.workspace = self.workspace, None
        if context is not None:
            await context.aclose()
            if isinstance(context.recorder, ClientRecorder):
                await context.recorder.close()
        if workspace is not None:
            workspace.close()


class Clients:
    """The tools of one mode on one project. `open_context` creates the context of a new client on a workspace."""

    def __init__(
        self,
        registry: ToolRegistry,
        mode: ToolMode,
        workspace: Workspace,
        *,
        open_context: Callable[[Workspace], ToolContext] | None = None,
        settings: Settings | None = None,
        client_approves: bool = False,
    ) -> None:
        """With `client_approves` nobody is asked about calls that policy does not deny: the client asks its user."""
        self.registry = registry
        self.mode = mode
        self.workspace = workspace
        self.settings = settings or Settings.defaults()
        self.client_approves = client_approves
        self._open = open_context or self._default_context
        self._states: dict[str, ClientState] = {}
        self._lock = asyncio.Lock()
        self._need_root = False
        self._rules_stamp: tuple[int, ...] | None = None
        """The state of the user's policy file for which `_need_root` is known."""

    def check(self) -> None:
        """Raise the error that would stop every call: a policy that cannot be read."""
        policy_of(ToolContext(workspace=self.workspace, mode=self.mode, settings=self.settings))

    def tools(self) -> list[Declaration]:
        """List the tools that clients see, which are exactly those that they may call."""
        return self.registry.list_declarations(self.mode)

    def tool_entries(self) -> list[dict[str, Any]]:
        """List the tools as `tools/list` shows them."""
        return [tool_entry(tool) for tool in self.tools()]

    def client(self, ctx: ServerRequestContext[Any, Any]) -> ClientState:
        """Return the state of the client that sent this request."""
        key = _key(ctx)
        client = self._states.pop(key, None) or ClientState()
        self._states[key] = client
        client.last_used = time.monotonic()
        client.session = ctx.session
        return client

    @contextlib.asynccontextmanager
    async def context(self, ctx: ServerRequestContext[Any, Any]) -> AsyncIterator[tuple[ClientState, ToolContext]]:
        """Yield the state and context of the client that sent this request, for one call."""
        client = self.client(ctx)
        client.calls += 1
        try:
            context = client.context
            if client.workspace is not None and client.roots_known and self._rules_need_root():
                client.roots_known = False  # the user has written such a rule since
            if context is None or not client.roots_known:
                context = await self._open_context(client, ctx)
            if client.workspace is not None and self._rules_need_root():
                raise _has_new_rules()  # other calls are still running there
            yield client, context
        finally:
            client.calls -= 1
            client.last_used = time.monotonic()

    def sessions(self) -> list[ServerSession]:
        """List the sessions of all clients that can receive messages."""
        return [client.session for client in self._states.values() if client.session is not None]

    async def remove(self, key: str) -> None:
        """Close a client whose session has ended."""
        client = self._states.pop(key, None)
        if client is not None:
            await client.close()

    async def close_idle(self) -> None:
        """Close clients that are idle for too long, and the oldest if there are too many."""
        now = time.monotonic()
        for number, (key, client) in enumerate(list(self._states.items())):
            crowded = len(self._states) > MAX_CLIENTS and number < len(self._states) - MAX_CLIENTS
            if not client.calls and (crowded or now - client.last_used > IDLE_SECONDS):
                await self.remove(key)

    async def close(self) -> None:
        """Close all clients."""
        for key in list(self._states):
            await self.remove(key)

    async def _open_context(self, client: ClientState, ctx: ServerRequestContext[Any, Any]) -> ToolContext:
        """Open the client's context, on the part of the project that it selected."""
        async with self._lock:
            if not client.roots_known:
                await self._narrow(client, ctx)
            if client.context is None:
                client.context = self._open(client.workspace or self.workspace)
                await self.close_idle()
            return client.context

    async def _narrow(self, client: ClientState, ctx: ServerRequestContext[Any, Any]) -> None:
        """Ask for the client's roots and switch to the selected workspace once no other call is running."""
        from toolgate.adapters.mcp_server.roots import client_roots, narrowed_workspace

        workspace = narrowed_workspace(self.workspace, await client_roots(ctx), self.settings)
        same = (workspace or self.workspace).root == (client.workspace or self.workspace).root
        busy = client.context is not None and client.calls > 1
        client.roots_known = same or not busy
        if same or busy:
            if workspace is not None:
                workspace.close()
            return
        await client.close()
        client.workspace = workspace
        logger("mcp").info("client_root", root=str((workspace or self.workspace).root))

    def _rules_need_root(self) -> bool:
        """Whether the user has written a rule about paths. With a mistake in the file, the rules stay as they were."""
        from toolgate.adapters.mcp_server.roots import rules_need_root

        stamp = file_stamp(self.settings.policy_file)
        if stamp != self._rules_stamp:
            self._need_root = rules_need_root(self.settings, unreadable=self._need_root)
            self._rules_stamp = stamp
        return self._need_root

    def _default_context(self, workspace: Workspace) -> ToolContext:
        return ToolContext(workspace=workspace, mode=self.mode, session_id=uuid7(), settings=self.settings)


def is_modern(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client uses protocol version 2026-07-28 or later, which has no `initialize`."""
    return ctx.protocol_version not in HANDSHAKE_VERSIONS


def _key(ctx: ServerRequestContext[Any, Any]) -> str:
    """Return the HTTP session id; empty for stdio and for HTTP clients without sessions."""
    if ctx.request is None or is_modern(ctx):
        return ""  # the session id of such a request is not verified
    return str(ctx.request.headers.get("mcp-session-id", ""))


def _has_new_rules() -> MCPError:
    """The refusal of a call after new rules. Only this needs the SDK, which a handshake does not load."""
    import mcp_types as types
    from mcp.shared.exceptions import MCPError

    return MCPError(code=types.INVALID_REQUEST, message=_NEW_RULES)
