"""The calls of one answer of the model: grouping them for execution, and their events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolgate.agent.events import ToolCallInfo, ToolResultInfo
from toolgate.protocol.calls import ToolCall, ToolDenied, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.runtime.arguments import MAX_BYTES, SURELY_SMALL, ArgumentsError, parse_arguments
from toolgate.runtime.scheduler import MAX_AT_ONCE

_BEGINNING = 500
"""Characters that are kept of arguments that are too large."""


def groups(calls: Sequence[ToolCall], is_read_only: Callable[[str], bool]) -> Iterator[list[ToolCall]]:
    """Group consecutive read-only calls; every other call is a group of its own. The order stays."""
    group: list[ToolCall] = []
    for call in calls:
        read_only = is_read_only(call.name)
        if read_only and len(group) < MAX_AT_ONCE:
            group.append(call)
            continue
        if group:
            yield group
        group = [call] if read_only else []
        if not group:
            yield [call]
    if group:
        yield group


def shortened(call: ToolCall) -> ToolCall:
    """A call as it is stored and shown: arguments that are too large are cut.

    Cut arguments are not valid JSON, so a process that resumes the turn cannot run the call.
    """
    if len(call.arguments) <= SURELY_SMALL or len(call.arguments.encode("utf-8", "replace")) <= MAX_BYTES:
        return call
    beginning = call.arguments[:_BEGINNING]
    return call.model_copy(update={"arguments": f"{beginning}… [cut: more than {MAX_BYTES} bytes of arguments]"})


def announced(call: ToolCall) -> ToolCallInfo:
    """The event that announces a call, with its arguments as an object if they can be parsed."""
    arguments: dict[str, Any] | str
    try:
        arguments = parse_arguments(call.arguments)
    except ArgumentsError:
        arguments = call.arguments
    return ToolCallInfo(tool_name=call.name, arguments=arguments, call_id=call.id)


def ended(call: ToolCall, result: ToolResult) -> ToolDenied | ToolResultInfo:
    """The event that ends a call: a denial if the mode denied it, otherwise a result."""
    error = result.response.error
    if error is not None and error.code is ErrorCode.MODE_DENIED:
        return ToolDenied(**result.response.data.get("routed", result.response.data))
    return ToolResultInfo(tool_name=call.name, call_id=call.id, result=result)


def as_dict(name: str, result: ToolResult) -> dict[str, Any]:
    """A result as a plain object: the six fields of a mode denial, otherwise the envelope with the id of the call."""
    response, error = result.response, result.response.error
    if error is not None and error.code is ErrorCode.MODE_DENIED:
        return {"ok": False, **response.data.get("routed", response.data)}
    answer: dict[str, Any] = {"ok": not result.is_error, "tool_name": name, "call_id": result.tool_call_id}
    if error is not None:
        answer["error_code"] = error.code.value
    return answer | response.to_dict()
