"""Running a tool: its deadline, its own cancel, and what it returned made into an envelope."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime.failures import failure_of, internal
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.run import Run
from toolgate.tools.foreign import ForeignTool, to_response


async def execute(run: Run, pending: PendingResult) -> ToolResponse:
    """The tool's response, or the failure that it ended with; only cancellation is raised."""
    tool = run.tool
    run.executed = True
    try:
        if tool.timeout is None:
            return await _call(run, pending)
        return await _within(tool.timeout, run, pending)
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # whatever a tool does, the runtime lives and the call is answered
        return failure_of(error, tool.name, _path(run.arguments))


async def _call(run: Run, pending: PendingResult) -> ToolResponse:
    assert run.entry is not None
    if run.entry.foreign is not None:
        return await _call_foreign(run.entry.foreign, run.arguments, pending)
    response = await run.entry.tool.execute(run.params, run.context)
    if isinstance(response, ToolResponse):
        return response
    return internal(run.tool.name, f"returned {type(response).__name__} instead of a ToolResponse")


async def _call_foreign(tool: ForeignTool, arguments: dict[str, Any], pending: PendingResult) -> ToolResponse:
    value: Any = tool.call(arguments)
    if inspect.isawaitable(value):
        own_cancel = getattr(value, "cancel", None)
        if callable(own_cancel):
            pending.on_cancel(own_cancel)
        value = await value
    return to_response(tool.name, value)


async def _within(seconds: float, run: Run, pending: PendingResult) -> ToolResponse:
    try:
        async with asyncio.timeout(seconds) as deadline:
            return await _call(run, pending)
    except TimeoutError:
        if not deadline.expired():
            raise
        return ToolResponse.failure(
            ErrorCode.TIMEOUT,
            f"Tool '{run.tool.name}' did not finish within {seconds:g} s and was stopped.",
            next_step="Ask for less in one call.",
        )


def _path(arguments: Any) -> object:
    return arguments.get("path") if isinstance(arguments, dict) else None
