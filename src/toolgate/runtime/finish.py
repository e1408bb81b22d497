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
from toolgate.runtime.run import Run

_new_response, _new_result = maker(ToolResponse), maker(ToolResult)


def plain_result(run: Run, said: str, value: Any, most: int) -> ToolResult | None:
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
            "stats": {"time_ms": int((perf_counter() - run.started) * 1_000_000) / 1000},
            "context": {"cwd": ".", "params_input": run.arguments},
        }
    )
    return _new_result(
        {
            "tool_call_id": run.call_id,
            "is_error": False,
            "output": output,
            "message": said,
            "extras": {},
            "response": response,
        }
    )


def rendered(run: Run, response: ToolResponse) -> tuple[ToolResponse, str]:
    """The completed envelope and what the model reads. A tool whose response cannot be written is broken."""
    try:
        return _rendered(run, response)
    except UnusableResponseError as error:
        broken = internal((run.inner or run).name, str(error))
    completed, _ = _completed(run, broken if run.answer is None else run.answer(broken, str))
    return completed, completed.text


def _completed(run: Run, response: ToolResponse) -> tuple[ToolResponse, str]:
    milliseconds = int((perf_counter() - run.started) * 1_000_000) / 1000
    shown = run.entry is None or run.entry.plain_render or response.error is not None
    return complete(response, arguments=run.arguments, milliseconds=milliseconds, data_is_shown=shown)


def _rendered(run: Run, response: ToolResponse) -> tuple[ToolResponse, str]:
    entry, error = run.entry, response.error
    completed, data = _completed(run, response)
    if error is not None and error.code is ErrorCode.MODE_DENIED:
        output = encode({"ok": False, **response.data.get("routed", response.data)})
    elif entry is None or entry.plain_render:
        output = f"{completed.text}\n{data}" if data else completed.text
    else:
        output = _own_rendering(run, completed, data)
    return completed, output if output.isascii() else scrub(output)


def _own_rendering(run: Run, response: ToolResponse, data: str) -> str:
    """What the tool's own `render` returns. If it fails on an error, the error itself is shown."""
    assert run.entry is not None
    try:
        output = run.entry.render(response)
    except BaseException as failure:  # noqa: BLE001 - a tool's own code: an error stays what it was, a result is broken
        logger("pipeline").error("render_failed", tool_name=run.entry.name, error=type(failure).__name__)
        if response.error is not None:
            return f"{response.text}\n{data}" if data else response.text
        output = None
    if not isinstance(output, str):
        raise UnusableResponseError("could not render its result")
    return output


def extras_of(run: Run, response: ToolResponse) -> dict[str, Any]:
    """`extras` of the result: what kind of failure it was, if any."""
    extras, error = run.extras or {}, response.error
    if "failureCategory" in extras:
        return extras
    category = None
    if error is not None:
        category = FAILURE_CATEGORY.get(error.code, "execution_error")
    elif run.entry is not None and run.entry.categorises:
        category = run.entry.tool.category(response)
    return {"failureCategory": category, **extras} if category else extras


def result_of(run: Run, response: ToolResponse, output: str) -> ToolResult:
    """The result, bound to the call's id."""
    error = response.error
    return _new_result(
        {
            "tool_call_id": run.call_id,
            "is_error": error is not None,
            "output": output,
            "message": response.text if error is None else error.message,
            "extras": extras_of(run, response),
            "response": response,
        },
    )
