"""Converts a result into the response of `tools/call`.

Several agents give a model the structured content *instead of* the text, whatever version of the protocol they use. So
the text has everything, there is no structured content, and programs find the outcome in `_meta`.
"""

from __future__ import annotations

from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.protocol.envelope import ToolResponse

CALL_ID = "toolgate/callId"
"""The `_meta` key with the call's id, which `toolgate undo` and the record use."""
CATEGORY = "toolgate/failureCategory"
OUTCOME = "toolgate/outcome"
"""The `_meta` key with the outcome, for programs; agents do not show `_meta` to a model."""

_OUTCOME_KEYS = ("exit_code", "timed_out", "truncated", "applied", "replacements", "job_id")
"""Short values of `data` that programs want to know and that are not content."""


def call_result(result: ToolResult) -> dict[str, Any]:
    """Return the rendered text and pictures for the model, and the outcome for programs."""
    meta: dict[str, Any] = {CALL_ID: result.tool_call_id, OUTCOME: outcome_of(result.response)}
    if category := result.extras.get("failureCategory"):
        meta[CATEGORY] = category
    images = [{"type": "image", "data": image.base64, "mimeType": image.media_type} for image in result.content]
    content = [{"type": "text", "text": result.output}, *images]
    return {"content": content, "isError": result.is_error, "resultType": "complete", "_meta": meta}


def outcome_of(response: ToolResponse) -> dict[str, Any]:
    """Return what a program wants to know about a result: never arguments, never content."""
    outcome: dict[str, Any] = {"status": response.status.value}
    if response.error is not None:
        outcome["error_code"] = response.error.code.value
    if "path_resolved" in response.context:
        outcome["path"] = response.context["path_resolved"]
    data = response.data
    outcome |= {key: data[key] for key in _OUTCOME_KEYS if isinstance(data.get(key), bool | int | str)}
    if "exit_code" in data and data["exit_code"] is None:
        outcome["exit_code"] = None
    truncation = data.get("truncation")
    if isinstance(truncation, dict):
        outcome["truncated"] = True
        if isinstance(truncation.get("full_output_path"), str):
            outcome["full_output_path"] = truncation["full_output_path"]
    return outcome
