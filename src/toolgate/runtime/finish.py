"""From a tool's response to the result that the caller gets."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from toolgate.log import logger
from toolgate.protocol.calls import ToolResult
from toolgate.protocol.codes import FAILURE_CATEGORY, ErrorCode
from toolgate.protocol.envelope import ErrorInfo, Status, ToolResponse, is_sound
from toolgate.protocol.fast import maker, trusted
from toolgate.protocol.jsontext import encode, encode_result, is_unicode, scrub
from toolgate.runtime.failures import internal
from toolgate.runtime.run import Run

_SUCCESS = Status.success
_new_response, _new_result = maker(ToolResponse), maker(ToolResult)


def _milliseconds_since(started: float) -> float:
    """Milliseconds in steps of a microsecond; `round` costs ten times as much."""
    return int((perf_counter() - started) * 1_000_000) / 1000


def complete(run: Run, response: ToolResponse) -> ToolResponse:
    """The envelope with the fields that every envelope has."""
    given = response.__dict__
    stats: dict[str, Any] = {"time_ms": _milliseconds_since(run.started)}
    context: dict[str, Any] = {"cwd": ".", "params_input": run.arguments}
    if given["stats"]:
        stats = given["stats"] | stats
    if given["context"]:
        context = {"cwd": "."} | given["context"] | {"params_input": run.arguments}
    return trusted(ToolResponse, {**given, "stats": stats, "context": context})


def plain_result(run: Run, said: str, value: Any, most: int) -> ToolResult | None:
    """The result of a plain value, at once; None for what needs a closer look or has more than `most` characters."""
    try:
        output = f"{said}\n{encode_result(value)}"
    except (ValueError, TypeError, RecursionError):
        return None
    if len(output) > most or not output.isascii():
        return None
    response = _new_response(
        {
            "status": _SUCCESS,
            "data": {"result": value},
            "text": said,
            "error": None,
            "stats": {"time_ms": int((perf_counter() - run.started) * 1_000_000) / 1000},
            "context": {"cwd": ".", "params_input": run.arguments},
        }
    )
    return _new_result(
        {
            "tool_call_id": run.call.id,
            "is_error": False,
            "output": output,
            "message": said,
            "extras": {},
            "response": response,
        }
    )


def rendered(run: Run, response: ToolResponse) -> tuple[ToolResponse, str]:
    """The completed envelope and what the model reads; a tool that returned what JSON cannot say is broken."""
    if not is_sound(response):
        return _broken(run, "returned an envelope that was never validated and contradicts itself")
    try:
        data = _data_text(run, response) if response.data else ""
        beside = encode([response.stats, response.context]) if response.context or response.stats else ""
    except (ValueError, TypeError, RecursionError) as error:
        return _broken(run, f"returned what JSON cannot say ({type(error).__name__})")
    completed = complete(run, response)
    output = _output(run, completed, data)
    if output is None:
        return _broken(run, "could not render its result")
    if output.isascii() and data.isascii() and response.text.isascii() and not beside and response.error is None:
        return completed, output
    arguments = run.arguments if type(run.arguments) is str else ""
    message = response.error.message if response.error is not None else ""
    if all(map(is_unicode, (output, data, beside, response.text, message, arguments))):
        return completed, output
    return _scrubbed(completed), scrub(output)


def _data_text(run: Run, response: ToolResponse) -> str:
    """The data as JSON; where a tool renders it itself it is only judged, which plain text needs not be encoded for."""
    entry, data = run.entry, response.data
    if entry is None or entry.plain_render or response.error is not None:
        return encode(data)
    return encode({key: "" if type(item) is str and item.isascii() else item for key, item in data.items()})


def _output(run: Run, response: ToolResponse, data: str) -> str | None:
    """What the model reads; None where a tool's own rendering of its own result fails."""
    entry, error = run.entry, response.error
    if error is not None and error.code is ErrorCode.MODE_DENIED:
        return encode({"ok": False, **response.data.get("routed", response.data)})
    plain = f"{response.text}\n{data}" if data else response.text
    if entry is None or entry.plain_render:
        return plain
    try:
        output = entry.render(response)
    except BaseException as failure:  # noqa: BLE001 - a tool's own code: an error stays what it was, a result is broken
        logger("pipeline").error("render_failed", tool_name=entry.name, error=type(failure).__name__)
        return plain if error is not None else None
    return output if isinstance(output, str) else None


def _scrubbed(response: ToolResponse) -> ToolResponse:
    fields = {name: scrub(value) for name, value in response.__dict__.items() if name not in ("status", "error")}
    error = response.error
    if error is not None:
        error = trusted(ErrorInfo, {"code": error.code, "message": scrub(error.message)})
    return trusted(ToolResponse, {**fields, "status": response.status, "error": error})


def _broken(run: Run, what: str) -> tuple[ToolResponse, str]:
    completed = complete(run, internal(run.call.name, what))
    return completed, completed.text


def result_of(run: Run, response: ToolResponse, output: str) -> ToolResult:
    """The result, bound to the call's id."""
    fields = response.__dict__
    error = fields["error"]
    extras = run.extras or {}
    if error is None and run.entry is not None and run.entry.categorises:
        category = run.entry.tool.category(response)
        extras = {"failureCategory": category, **extras} if category else extras
    elif error is not None and "failureCategory" not in extras:
        extras = {"failureCategory": FAILURE_CATEGORY.get(error.code, "execution_error"), **extras}
    return _new_result(
        {
            "tool_call_id": run.call.id,
            "is_error": error is not None,
            "output": output,
            "message": fields["text"] if error is None else error.message,
            "extras": extras,
            "response": response,
        },
    )
