"""Converts a result into the response of `tools/call`."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.text.redaction import recorded_copy

CALL_ID = "toolgate/callId"
"""The `_meta` key with the call's id, which `toolgate undo` and the record use."""
CATEGORY = "toolgate/failureCategory"


MAX_ECHOED_ARGUMENTS = 1 << 16
"""Arguments with more characters are shortened in the response, as in the record: clients have limits too."""


def call_result(result: ToolResult, arguments: str) -> dict[str, Any]:
    """Return the rendered text with the envelope beside it; `isError` is the envelope's."""
    envelope = result.response.to_dict()
    if len(arguments) > MAX_ECHOED_ARGUMENTS:
        given = envelope["context"]
        envelope["context"] = {**given, "params_input": recorded_copy(given["params_input"])}
    meta = {CALL_ID: result.tool_call_id}
    if category := result.extras.get("failureCategory"):
        meta[CATEGORY] = category
    return {
        "content": [{"type": "text", "text": result.output}],
        "structuredContent": envelope,
        "isError": result.is_error,
        "resultType": "complete",
        "_meta": meta,
    }
