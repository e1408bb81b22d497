"""Runs the tool of a call that has passed every gate: native, function and foreign tools, with their timeouts."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse, result_in_envelope
from toolgate.runtime import denials
from toolgate.runtime.failures import failure_of, internal
from toolgate.runtime.future_relay import GRACE
from toolgate.runtime.locks import WriterLock
from toolgate.runtime.state import runtime_state
from toolgate.runtime.unfinished import cut_short, is_running
from toolgate.tools.base import Tool
from toolgate.tools.foreign import ForeignTool, to_response
from toolgate.tools.function import FunctionTool, ThreadCall

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.runtime.breaker import Breaker
    from toolgate.runtime.invocation import Invocation
    from toolgate.runtime.pending import PendingResult
    from toolgate.runtime.recording import Recording
    from toolgate.runtime.resolved_tool import ResolvedTool
    from toolgate.tools.context import ToolContext
    from toolgate.tools.declaration import Declaration

Invoke = Callable[["Invocation", "PendingResult"], Awaitable[Any]]


class Executor:
    """Runs the tools of one context. Writers run one after another."""

    def __init__(self, context: ToolContext, breaker: Breaker, recording: Recording | None) -> None:
        self._context = context
        self._breaker = breaker
        self._recording = recording
        self._writers: WriterLock = runtime_state(context).writers
        self._unfinished = runtime_state(context).unfinished

    async def execute(self, invocation: Invocation, resolved: ResolvedTool, pending: PendingResult) -> Any:
        """Run the tool when no other writer runs, and return its value. Whatever it raises becomes a `ToolResponse`."""
        held = resolved.writes and (self._writers.enter() or await self._writers.wait())
        try:
            if self._unfinished.running and (running := self._unfinished.refusal(invocation)) is not None:
                return running
            if invocation.plan is not None or self._recording is not None or not self._breaker.quiet:
                obstacle = await self._obstacle(invocation, resolved.name)
                if obstacle is not None:
                    return obstacle
            invocation.executed = True
            return await resolved.invoke(invocation, pending)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever is raised becomes an answer
            return failure_of(error, resolved.name, invocation.arguments.get("path"))
        finally:
            if held:
                self._writers.leave()

    async def _obstacle(self, invocation: Invocation, name: str) -> ToolResponse | None:
        """Why the call cannot run now: the breaker is open, a planned file has changed, or it cannot be recorded."""
        invocation.began = self._breaker.begin(name)
        if not invocation.began:
            return denials.circuit_open(name, self._breaker.remaining(name))
        obstacle = self._changed_since(invocation.plan) if invocation.plan is not None else None
        if obstacle is None and self._recording is not None:
            obstacle = await self._recording.start(invocation)
        return obstacle

    def _changed_since(self, plan: Plan) -> ToolResponse | None:
        if not plan.preconditions or plan.checks_preconditions:
            return None
        workspace = self._context.workspace or self._context.require_workspace()
        changed = [
            item.resource
            for item in plan.preconditions
            if workspace.for_path(item.resource).state(item.resource) != item.state
        ]
        if not changed:
            return None
        return ToolResponse.failure(
            ErrorCode.CONFLICT,
            f"{', '.join(map(repr, changed))} changed after this call was planned; nothing was done.",
            next_step="Read it again and repeat the call on what is there now.",
        )


def invoker(tool: Tool[Any], declaration: Declaration) -> Invoke:
    """The function that calls a tool, with its timeout and its own `cancel`."""
    invoke: Invoke
    if isinstance(tool, ForeignTool) and type(tool).execute is ForeignTool.execute:
        invoke = _foreign(tool)
    elif isinstance(tool, FunctionTool) and tool.is_plain:
        function = tool.function

        def invoke(invocation: Invocation, _pending: PendingResult) -> Awaitable[Any]:
            values = invocation.values
            return function(**(invocation.params.__dict__ if values is None else values))  # type: ignore[no-any-return]  # what a coroutine function returns
    elif isinstance(tool, FunctionTool) and tool.blocks and type(tool).execute is FunctionTool.execute:

        def invoke(invocation: Invocation, _pending: PendingResult) -> Awaitable[Any]:
            thread = ThreadCall()
            invocation.still_running = thread.is_running
            return tool.execute(invocation.params, invocation.context, thread)
    elif declaration.needs:

        def invoke(invocation: Invocation, _pending: PendingResult) -> Awaitable[Any]:
            return tool.execute(invocation.params, invocation.context.derive(call_id=invocation.call_id))
    else:

        def invoke(invocation: Invocation, _pending: PendingResult) -> Awaitable[Any]:
            return tool.execute(invocation.params, invocation.context)

    return invoke if declaration.timeout is None else _with_timeout(declaration.timeout, declaration.name, invoke)


def responder(tool: Tool[Any], name: str) -> Callable[[Any], ToolResponse]:
    """The function that turns a returned value into an envelope; for native tools, which must return one, a failure."""
    if isinstance(tool, ForeignTool):
        return lambda value: to_response(name, value)
    if isinstance(tool, FunctionTool):
        return lambda value: result_in_envelope(value, tool.success_text)
    return lambda value: internal(name, f"returned {type(value).__name__} instead of a ToolResponse")


def _foreign(tool: ForeignTool) -> Invoke:
    async def invoke(invocation: Invocation, pending: PendingResult) -> Any:
        value: Any = tool.call(copy.deepcopy(invocation.arguments))
        if inspect.isawaitable(value):
            if isinstance(value, asyncio.Future):
                invocation.still_running = is_running(value)
            own_cancel = getattr(value, "cancel", None)
            if callable(own_cancel):
                pending.on_cancel(own_cancel)
            value = await value
        return value

    return invoke


def _with_timeout(seconds: float, name: str, invoke: Invoke) -> Invoke:
    """Runs the tool in a task of its own, so that a call is answered even if the tool ignores its timeout."""

    async def within(invocation: Invocation, pending: PendingResult) -> Any:
        task = asyncio.ensure_future(_value_or_error(invoke(invocation, pending)))
        try:
            await asyncio.wait([task], timeout=seconds)
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=GRACE / 2)
                if not task.done() or task.cancelled():
                    return _timed_out(invocation, task, name, seconds)
        except asyncio.CancelledError:
            await _cancel_and_wait(invocation, task)
            raise
        value, error = task.result()
        if error is not None:
            raise error
        return value

    return within


async def _value_or_error(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """The value or the error. Nothing that a tool raises may leave its task."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again in the call that waits for the task
        return None, error


async def _cancel_and_wait(invocation: Invocation, task: asyncio.Future[Any]) -> None:
    """Cancel the task of a cancelled call, and wait until it has ended or the call is abandoned."""
    task.cancel()
    if invocation.still_running is None or not invocation.still_running():
        invocation.still_running = is_running(task)
    await asyncio.wait([task])


def _timed_out(invocation: Invocation, task: asyncio.Future[Any], name: str, seconds: float) -> ToolResponse:
    if not task.done():
        invocation.still_running = is_running(task)
    what = f"Tool '{name}' did not finish within {seconds:g} s"
    unfinished = runtime_state(invocation.context).unfinished
    return cut_short(invocation, unfinished, ErrorCode.TIMEOUT, what, stopped=task.done())
