"""From a tool's response to the result that the caller gets."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from toolgate.log import logger
from toolgate.protocol.calls import ToolResult
from toolgate.protocol.codes import FAILURE_CATEGORY, ErrorCode
from toolgate.protocol.completion import UnusableResponseError, complete
from toolgate.protocol.envelope import Status, ToolResponse
from toolgate.protocol.fast import maker
from toolgate.protocol.jsontext import encode, encode_result, scrub
from toolgate.runtime.failures import internal
from toolgate.runtime.invocation import Invocation

_new_response, _new_result = maker(ToolResponse), maker(ToolResult)


def plain_result(invocation: Invocation, said: str, value: Any, most: int) -> ToolResult | None:
    """The result of a plain value, in one step. None if the value is not plain or has more than `most` characters."""
    try:
        output = f"{said}\n{encode_result(value)}"
    except (ValueError, TypeError, RecursionError):
        return None
    if len(output) > most or not output.isascii():
        return None
    response = _new_response(
        {
            "status": Status.success,
            "data": {"result": value},
            "text": said,
            "error": None,
            "stats": {"time_ms": int((perf_counter() - (invocation.inner or invocation).started) * 1_000_000) / 1000},
            "context": {"cwd": ".", "params_input": invocation.arguments},
            "content": (),
        }
    )
    return _new_result(
        {
            "tool_call_id": invocation.call_id,
            "is_error": False,
            "output": output,
            "message": said,
            "extras": {},
            "response": response,
        }
    )


def rendered(invocation: Invocation, response: ToolResponse) -> tuple[ToolResponse, str]:
    """The completed envelope and what the model reads. A tool whose response cannot be written is broken."""
    try:
        return _rendered(invocation, response)
    except UnusableResponseError as error:
        broken = internal((invocation.inner or invocation).name, str(error))
    completed, _ = _completed(invocation, broken if invocation.answer is None else invocation.answer(broken, str))
    return completed, completed.text


def _completed(invocation: Invocation, response: ToolResponse) -> tuple[ToolResponse, str]:
    milliseconds = int((perf_counter() - (invocation.inner or invocation).started) * 1_000_000) / 1000
    shown = invocation.resolved is None or invocation.resolved.plain_render or response.error is not None
    return complete(response, arguments=invocation.arguments, milliseconds=milliseconds, data_is_shown=shown)


def _rendered(invocation: Invocation, response: ToolResponse) -> tuple[ToolResponse, str]:
    resolved, error = invocation.resolved, response.error
    completed, data = _completed(invocation, response)
    if error is not None and error.code is ErrorCode.MODE_DENIED:
        output = encode({"ok": False, **response.data.get("routed", response.data)})
    elif resolved is None or resolved.plain_render:
        output = f"{completed.text}\n{data}" if data else completed.text
    else:
        output = _own_rendering(invocation, completed, data)
    return completed, output if output.isascii() else scrub(output)


def _own_rendering(invocation: Invocation, response: ToolResponse, data: str) -> str:
    """What the tool's own `render` returns. If it fails on an error, the error itself is shown."""
    assert invocation.resolved is not None
    try:
        output = invocation.resolved.render(response)
    except BaseException as failure:  # noqa: BLE001 - a tool's own code: an error stays what it was, a result is broken
        logger("pipeline").error("render_failed", tool_name=invocation.resolved.name, error=type(failure).__name__)
        if response.error is not None:
            return f"{response.text}\n{data}" if data else response.text
        output = None
    if not isinstance(output, str):
        raise UnusableResponseError("could not render its result")
    return output


def extras_of(invocation: Invocation, response: ToolResponse) -> dict[str, Any]:
    """`extras` of the result: what kind of failure it was, if any."""
    extras, error = invocation.extras or {}, response.error
    if "failureCategory" in extras:
        return extras
    category = None
    if error is not None:
        category = FAILURE_CATEGORY.get(error.code, "execution_error")
    elif invocation.resolved is not None and invocation.resolved.categorises:
        category = invocation.resolved.tool.category(response)
    return {"failureCategory": category, **extras} if category else extras


def result_of(invocation: Invocation, response: ToolResponse, output: str) -> ToolResult:
    """The result, bound to the call's id."""
    error = response.error
    return _new_result(
        {
            "tool_call_id": invocation.call_id,
            "is_error": error is not None,
            "output": output,
            "message": response.text if error is None else error.message,
            "extras": extras_of(invocation, response),
            "response": response,
        },
    )
