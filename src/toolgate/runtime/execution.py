"""Running a tool: its deadline, its own cancel, and what it returned made into an envelope."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime.failures import failure_of, internal
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.run import Entry, Run
from toolgate.tools.foreign import ForeignTool, to_response


async def execute(run: Run, entry: Entry, pending: PendingResult) -> ToolResponse:
    """The tool's response, or the failure that it ended with; only cancellation is raised."""
    tool = entry.tool
    run.executed = True
    response: object
    try:
        if tool.timeout is not None:
            response = await _within(tool.timeout, run, entry, pending)
        elif entry.foreign is not None:
            response = await _call_foreign(entry.foreign, run.arguments, pending)
        else:
            response = await tool.execute(run.params, run.context)
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a tool does, the runtime lives and the call is answered
        return failure_of(error, tool.name, _path(run.arguments))
    return _checked(response, tool.name)


def _checked(response: object, tool_name: str) -> ToolResponse:
    if isinstance(response, ToolResponse):
        return response
    return internal(tool_name, f"returned {type(response).__name__} instead of a ToolResponse")


async def _call_foreign(tool: ForeignTool, arguments: dict[str, Any], pending: PendingResult) -> ToolResponse:
    value: Any = tool.call(arguments)
    if inspect.isawaitable(value):
        own_cancel = getattr(value, "cancel", None)
        if callable(own_cancel):
            pending.on_cancel(own_cancel)
        value = await value
    return to_response(tool.name, value)


async def _within(seconds: float, run: Run, entry: Entry, pending: PendingResult) -> ToolResponse:
    try:
        async with asyncio.timeout(seconds) as deadline:
            if entry.foreign is not None:
                return await _call_foreign(entry.foreign, run.arguments, pending)
            response: ToolResponse = await entry.tool.execute(run.params, run.context)
            return response
    except TimeoutError:
        if not deadline.expired():
            raise
        return ToolResponse.failure(
            ErrorCode.TIMEOUT,
            f"Tool '{entry.tool.name}' did not finish within {seconds:g} s and was stopped.",
            next_step="Ask for less in one call.",
        )


def _path(arguments: Any) -> object:
    return arguments.get("path") if isinstance(arguments, dict) else None
