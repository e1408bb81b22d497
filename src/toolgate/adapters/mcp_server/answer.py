"""A result as an MCP client gets it."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.text.redaction import recorded_copy

CALL_ID = "toolgate/callId"
"""The key of `_meta` with the call's id: what `toolgate undo` and the record know it by."""
CATEGORY = "toolgate/failureCategory"


LARGE = 1 << 16
"""Characters of arguments above which an answer repeats them in short, as the record does: clients have limits, too."""


def answer(result: ToolResult, arguments: str) -> dict[str, Any]:
    """What the model reads as text, the envelope beside it; an error is what the envelope calls one."""
    envelope = result.response.to_dict()
    if len(arguments) > LARGE:
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
