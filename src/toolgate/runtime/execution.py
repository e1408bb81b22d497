"""How native, function and foreign tools are called, and how what they return becomes an envelope."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse, result_in_envelope
from toolgate.runtime.failures import internal
from toolgate.runtime.future_relay import GRACE
from toolgate.runtime.state import runtime_state
from toolgate.runtime.unfinished import cut_short, is_running
from toolgate.tools.base import Tool
from toolgate.tools.foreign import ForeignTool, to_response
from toolgate.tools.function import FunctionTool, ThreadCall

if TYPE_CHECKING:
    from toolgate.runtime.invocation import Invocation
    from toolgate.runtime.pending import PendingResult
    from toolgate.tools.declaration import Declaration

Invoke = Callable[["Invocation", "PendingResult"], Awaitable[Any]]


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

    return invoke if declaration.timeout is None else _within(declaration.timeout, declaration.name, invoke)


def responder(tool: Tool[Any], name: str) -> Callable[[Any], ToolResponse]:
    """The function that puts a returned value into an envelope; for tools that must return envelopes, a failure."""
    if isinstance(tool, ForeignTool):
        return lambda value: to_response(name, value)
    if isinstance(tool, FunctionTool):
        return lambda value: result_in_envelope(value, tool.said)
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


def _within(seconds: float, name: str, invoke: Invoke) -> Invoke:
    """Runs the tool in a task of its own, so that a call is answered even if the tool ignores its timeout."""

    async def within(invocation: Invocation, pending: PendingResult) -> Any:
        task = asyncio.ensure_future(_outcome(invoke(invocation, pending)))
        try:
            await asyncio.wait([task], timeout=seconds)
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=GRACE / 2)
                if not task.done() or task.cancelled():
                    return _late(invocation, task, name, seconds)
        except asyncio.CancelledError:
            await _stopped(invocation, task)
            raise
        value, error = task.result()
        if error is not None:
            raise error
        return value

    return within


async def _outcome(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """The value or the error. Nothing that a tool raises may leave its task."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again in the call that waits for the task
        return None, error


async def _stopped(invocation: Invocation, task: asyncio.Future[Any]) -> None:
    """Cancel the task of a cancelled call, and wait until it has ended or the call is abandoned."""
    task.cancel()
    if invocation.still_running is None or not invocation.still_running():
        invocation.still_running = is_running(task)
    await asyncio.wait([task])


def _late(invocation: Invocation, task: asyncio.Future[Any], name: str, seconds: float) -> ToolResponse:
    if not task.done():
        invocation.still_running = is_running(task)
    what = f"Tool '{name}' did not finish within {seconds:g} s"
    unfinished = runtime_state(invocation.context).unfinished
    return cut_short(invocation, unfinished, ErrorCode.TIMEOUT, what, stopped=task.done())
