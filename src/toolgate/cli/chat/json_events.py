"""Encodes a turn's events as JSON for scripts, one object per line. The names are those of the wire protocol."""

from __future__ import annotations

import json
from typing import Any

from toolgate.agent.events import (
    Activity,
    AgentEvent,
    ApprovalRequested,
    ApprovalResolved,
    Compacted,
    ModelRetry,
    TextChunk,
    ToolCallInfo,
    ToolOutput,
    ToolResultInfo,
    TurnDone,
    TurnFailed,
)
from toolgate.protocol.calls import ToolDenied

TYPES: dict[type, str] = {
    TextChunk: "text",
    ToolCallInfo: "tool_call",
    ToolDenied: "tool_denied",
    ToolResultInfo: "tool_result",
    ToolOutput: "tool_output",
    ApprovalRequested: "approval_request",
    ApprovalResolved: "approval_resolved",
    ModelRetry: "model_retry",
    Activity: "activity",
    Compacted: "compacted",
    TurnDone: "turn_done",
    TurnFailed: "turn_failed",
}
"""The `type` of each event class."""


def as_object(event: AgentEvent) -> dict[str, Any]:
    """Return the event as a plain object, `type` first."""
    kind = {"type": TYPES[type(event)]}
    if isinstance(event, ToolResultInfo):
        result = event.result
        return {
            **kind,
            "tool_name": event.tool_name,
            "call_id": event.call_id,
            "is_error": result.is_error,
            "output": result.output,
            "message": result.message,
            "extras": result.extras,
            "response": result.response.to_dict(),
        }
    if isinstance(event, ApprovalRequested):
        return {**kind, **event.request.model_dump()}
    if isinstance(event, ApprovalResolved):
        return {**kind, "id": event.request_id, "allowed": event.allowed, "message": event.message}
    return {**kind, **event.model_dump()}


def as_line(value: dict[str, Any]) -> str:
    """Encode one line of JSON; characters that UTF-8 cannot encode are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() or _is_unicode(text) else json.dumps(value, separators=(",", ":"))


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
