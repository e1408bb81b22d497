"""From a tool's response to the result that the caller gets."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.protocol.codes import FAILURE_CATEGORY, ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.fast import trusted
from toolgate.protocol.jsontext import encode, is_unicode, scrub
from toolgate.runtime.failures import internal
from toolgate.runtime.run import Run


def complete(run: Run, response: ToolResponse) -> ToolResponse:
    """The envelope with the fields that every envelope has."""
    given = response.__dict__
    stats: dict[str, Any] = {"time_ms": round((perf_counter() - run.started) * 1000, 3)}
    context: dict[str, Any] = {"cwd": ".", "params_input": run.arguments}
    if given["stats"]:
        stats = given["stats"] | stats
    if given["context"]:
        context = {"cwd": "."} | given["context"] | {"params_input": run.arguments}
    if run.fresh:
        given["stats"], given["context"] = stats, context
        return response
    return trusted(ToolResponse, {**given, "stats": stats, "context": context})


def rendered(run: Run, response: ToolResponse) -> tuple[ToolResponse, str]:
    """The completed envelope and what the model reads; a tool that returned what JSON cannot say is broken."""
    entry = run.entry
    output: object
    try:
        completed = complete(run, response)
        data = encode(response.data) if response.data else ""
        if response.context or response.stats:
            encode([response.stats, response.context])
        if response.error is not None and response.error.code is ErrorCode.MODE_DENIED:
            output = encode({"ok": False, **response.data})
        elif entry is None or entry.plain_render:
            output = f"{response.text}\n{data}" if data else response.text
        else:
            output = entry.render(completed)
    except (ValueError, TypeError, RecursionError) as error:
        return _broken(run, f"returned what JSON cannot say ({type(error).__name__})")
    except Exception as error:  # noqa: BLE001 - a tool's own render: its fault is reported like any other of the tool
        return _broken(run, f"could not render its result ({type(error).__name__})")
    if not isinstance(output, str):
        return _broken(run, f"rendered {type(output).__name__} instead of text")
    if not output.isascii() and not is_unicode(output):
        fields = {**completed.__dict__, "data": scrub(completed.data), "text": scrub(completed.text)}
        fields["context"] = scrub(completed.context)
        return trusted(ToolResponse, fields), scrub(output)
    return completed, output


def _broken(run: Run, what: str) -> tuple[ToolResponse, str]:
    completed = complete(run, internal(run.call.name, what))
    return completed, completed.text


def result_of(run: Run, response: ToolResponse, output: str) -> ToolResult:
    """The result, bound to the call's id."""
    error = response.error
    extras: dict[str, Any] = run.extras
    if error is not None and "failureCategory" not in extras:
        extras = {"failureCategory": FAILURE_CATEGORY.get(error.code, "execution_error"), **extras}
    return trusted(
        ToolResult,
        {
            "tool_call_id": run.call.id,
            "is_error": error is not None,
            "output": output,
            "message": response.text if error is None else error.message,
            "extras": extras,
            "response": response,
        },
    )
