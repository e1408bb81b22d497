"""`tools/call`: from a request of MCP to the pipeline and back."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolgate.adapters.mcp_server.answer import answer
from toolgate.adapters.mcp_server.approvals import Elicitation, can_ask
from toolgate.adapters.mcp_server.clients import Desk, Seat
from toolgate.adapters.mcp_server.live import LiveOutput, wants_log
from toolgate.adapters.mcp_server.pending_calls import Parking, Question, Running
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.ids import uuid7
from toolgate.runtime.toolset import CallableToolset
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from toolgate.protocol.ports import Approver

GONE = "toolgate.gone"
"""The key of an HTTP request's scope with the future that is done when its client has gone away."""


_asked: ContextVar[Approver | None] = ContextVar("asked", default=None)
"""Who is asked about the call that this task runs."""


class _AskedNow:
    """The approver of tools that are made once for many calls: each call has its own."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Pass the question on."""
        approver = _asked.get()
        if approver is None:
            return Approval(allowed=False, message="nobody can be asked here")
        return await approver.decide(request)


class Calls:
    """Handles the calls of every client of a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._patience = desk.settings.agent.approval_timeout
        self._parking = Parking(self._patience)
        self._tasks: set[asyncio.Task[ToolResult]] = set()

    async def call(self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> dict[str, Any]:
        """One call, or the next step of one that waits for an answer."""
        arguments = json.dumps(params.arguments or {}, ensure_ascii=False)
        if params.request_state is not None:
            running = self._parking.resume(params, arguments)
            running.live.ctx = ctx
        else:
            running = self._start(ctx, params.name, arguments)
        await self._wait(running, ctx)
        if running.task.done():
            return answer(running.task.result(), arguments)
        return self._parking.park(running)

    async def close(self) -> None:
        """Take back what still runs."""
        self._parking.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, ctx: ServerRequestContext[Any, Any], name: str, arguments: str) -> Running:
        """Begin in a task of its own: what cancels the request must not reach into the tool, which is stopped once."""
        live = LiveOutput(ctx, name)
        approver, question = self._approver(ctx)
        work = self._run(ctx, ToolCall(id=uuid7(), name=name, arguments=arguments), approver, live)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Running(name=name, arguments=arguments, question=question, live=live, task=task)

    def _approver(self, ctx: ServerRequestContext[Any, Any]) -> tuple[Approver | None, Question | None]:
        """Who is asked; nobody, where the client cannot show a question to a person."""
        if not can_ask(ctx.session):
            return None, None
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            question = Question()
            return question, question
        return (Elicitation(ctx, self._patience), None) if ctx.session.can_send_request else (None, None)

    async def _run(
        self, ctx: ServerRequestContext[Any, Any], call: ToolCall, approver: Approver | None, live: LiveOutput
    ) -> ToolResult:
        async with self._desk.context(ctx) as (seat, context):
            live.log = wants_log(seat.level if seat.level is not None else _level(ctx))
            _asked.set(approver)
            if not live.is_wanted:
                return await self._toolset(seat, context, asks=approver is not None).handle(call)
            own = context.derive(approver=approver, on_output=live)
            try:
                return await self._desk.registry.toolset(self._desk.mode, own).handle(call)
            finally:
                await live.aclose()

    def _toolset(self, seat: Seat, context: ToolContext, *, asks: bool) -> CallableToolset:
        """The client's tools, made once."""
        found = seat.toolsets.get(asks)
        if found is None:
            own = context.derive(approver=_AskedNow() if asks else None)
            found = seat.toolsets[asks] = self._desk.registry.toolset(self._desk.mode, own)
        return found

    async def _wait(self, running: Running, ctx: ServerRequestContext[Any, Any]) -> None:
        """Until there is a result or a question; if the request is taken back, until the call has been stopped."""
        gone: asyncio.Future[None] | None = ctx.request.scope.get(GONE) if ctx.request is not None else None
        waits: set[asyncio.Future[Any]] = {running.task}
        if gone is not None:
            waits.add(gone)
        if running.question is not None and not running.question.is_answered:
            waits.add(running.question.asked)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _stop(running.task)
            raise
        if gone is not None and gone.done() and not running.task.done():
            await _stop(running.task)
            raise MCPError(code=types.CONNECTION_CLOSED, message="The client has gone away.")


async def _stop(task: asyncio.Task[ToolResult]) -> None:
    """End a call; anyio would go on cancelling while it cleans up, so it is shielded."""
    task.cancel()
    with anyio.CancelScope(shield=True):
        await asyncio.wait({task})


def _level(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """The level that a single request asks for (2026-07-28 and later)."""
    level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
    return level if isinstance(level, str) else None
