"""A result as an MCP client gets it."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.calls import ToolResult

CALL_ID = "toolgate/callId"
"""The key of `_meta` with the call's id: what `toolgate undo` and the record know it by."""
CATEGORY = "toolgate/failureCategory"


def answer(result: ToolResult) -> dict[str, Any]:
    """What the model reads as text, the envelope beside it; an error is what the envelope calls one."""
    meta = {CALL_ID: result.tool_call_id}
    if category := result.extras.get("failureCategory"):
        meta[CATEGORY] = category
    return {
        "content": [{"type": "text", "text": result.output}],
        "structuredContent": result.response.to_dict(),
        "isError": result.is_error,
        "resultType": "complete",
        "_meta": meta,
    }
