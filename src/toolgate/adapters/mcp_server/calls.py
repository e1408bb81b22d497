"""Handles `tools/call`: from an MCP request to the pipeline and back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolgate.adapters.mcp_server.approvals import ClientApprover, Elicitation, can_ask
from toolgate.adapters.mcp_server.clients import Clients, ClientState, is_modern
from toolgate.adapters.mcp_server.live_output import LiveOutput, wants_log
from toolgate.adapters.mcp_server.pending_calls import PendingApproval, PendingCalls, RunningCall
from toolgate.adapters.mcp_server.results import call_result
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.ids import uuid7
from toolgate.protocol.ports import Unattended
from toolgate.runtime.toolset import CallableToolset
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from toolgate.protocol.ports import Approver

DISCONNECTED = "toolgate.disconnected"
"""The key in an HTTP request's scope with a future that is done when the client has disconnected."""


_current_approver: ContextVar[Approver | None] = ContextVar("current_approver", default=None)
"""The approver of the call that this task runs."""


class _CurrentApprover:
    """Passes approval requests to the approver of the current call, because toolsets are shared by many calls."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask the approver of the current call."""
        approver = _current_approver.get()
        if approver is None:
            return Approval(allowed=False, message="nobody can be asked here")
        return await approver.decide(request)

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Ask the approver of the current call whether the answer names the rules."""
        approver = _current_approver.get()
        return isinstance(approver, Unattended) and approver.advise(request, rules)


class Calls:
    """Handles the calls of all clients."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._approval_timeout = clients.settings.agent.approval_timeout
        self._pending = PendingCalls(self._approval_timeout)
        self._tasks: set[asyncio.Task[ToolResult]] = set()

    async def call(self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> dict[str, Any]:
        """Handle one call, or continue one that waits for an approval."""
        arguments = json.dumps(params.arguments or {}, ensure_ascii=False)
        if params.request_state is not None:
            running = self._pending.resume(params, arguments)
            running.live.ctx = ctx
        else:
            running = self._start(ctx, params.name, arguments)
        await self._wait(running, ctx)
        if running.task.done():
            return call_result(running.task.result())
        return self._pending.suspend(running)

    async def close(self) -> None:
        """Cancel all running calls."""
        self._pending.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, ctx: ServerRequestContext[Any, Any], name: str, arguments: str) -> RunningCall:
        """Start the call in its own task, so that cancelling the request stops the tool only once."""
        live = LiveOutput(ctx, name)
        approver, approval = self._approver(ctx)
        work = self._run(ctx, ToolCall(id=uuid7(), name=name, arguments=arguments), approver, live)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return RunningCall(name=name, arguments=arguments, approval=approval, live=live, task=task)

    def _approver(self, ctx: ServerRequestContext[Any, Any]) -> tuple[Approver | None, PendingApproval | None]:
        """Return the approver; None if the client cannot show a question to a person."""
        if self._clients.client_approves:
            return ClientApprover(), None
        if not can_ask(ctx.session):
            return None, None
        if is_modern(ctx):
            approval = PendingApproval()
            return approval, approval
        return (Elicitation(ctx, self._approval_timeout), None) if ctx.session.can_send_request else (None, None)

    async def _run(
        self, ctx: ServerRequestContext[Any, Any], call: ToolCall, approver: Approver | None, live: LiveOutput
    ) -> ToolResult:
        async with self._clients.context(ctx) as (client, context):
            live.log = wants_log(client.level if client.level is not None else _level(ctx))
            _current_approver.set(approver)
            if not live.is_wanted:
                return await self._toolset(client, context, asks=approver is not None).handle(call)
            own = context.derive(approver=approver, on_output=live)
            try:
                return await self._clients.registry.toolset(self._clients.mode, own).handle(call)
            finally:
                await live.aclose()

    def _toolset(self, client: ClientState, context: ToolContext, *, asks: bool) -> CallableToolset:
        """Return the client's toolset, which is created once."""
        found = client.toolsets.get(asks)
        if found is None:
            own = context.derive(approver=_CurrentApprover() if asks else None)
            found = client.toolsets[asks] = self._clients.registry.toolset(self._clients.mode, own)
        return found

    async def _wait(self, running: RunningCall, ctx: ServerRequestContext[Any, Any]) -> None:
        """Wait for a result or an approval request. If the request is cancelled, stop the call first."""
        disconnected: asyncio.Future[None] | None = (
            ctx.request.scope.get(DISCONNECTED) if ctx.request is not None else None
        )
        waits: set[asyncio.Future[Any]] = {running.task}
        if disconnected is not None:
            waits.add(disconnected)
        if running.approval is not None and not running.approval.is_answered:
            waits.add(running.approval.asked)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _stop(running.task)
            raise
        if disconnected is not None and disconnected.done() and not running.task.done():
            await _stop(running.task)
            raise MCPError(code=types.CONNECTION_CLOSED, message="The client has disconnected.")


async def _stop(task: asyncio.Task[ToolResult]) -> None:
    """Cancel a call. It is shielded, because anyio would keep cancelling while the call cleans up."""
    task.cancel()
    with anyio.CancelScope(shield=True):
        await asyncio.wait({task})


def _level(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """Return the log level that a single request asks for (protocol 2026-07-28 and later)."""
    level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
    return level if isinstance(level, str) else None
