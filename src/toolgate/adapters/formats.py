"""Helpers that the tool formats of the providers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse

Document = dict[str, Any]
"""A JSON object of a provider's format."""


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value as a mapping; objects of a provider's SDK are converted."""
    if isinstance(value, Mapping):
        return value
    dumped = value.model_dump()
    if not isinstance(dumped, Mapping):
        raise TypeError(f"{type(value).__name__} is neither a mapping nor an object of an SDK")
    return dumped


def text_of(content: Any) -> str:
    """Return the text of a content, which is a string or a list of parts. Parts without text are skipped."""
    if content is None or isinstance(content, str):
        return content or ""
    parts: Iterable[Any] = content
    return "".join(str(part["text"]) for part in map(as_mapping, parts) if isinstance(part.get("text"), str))


def result_of(call_id: str, text: str, *, is_error: bool = False) -> ToolResult:
    """Create a result from its text, which is all that a provider's format keeps of an envelope."""
    if is_error:
        message = text or "The tool failed."
        response = ToolResponse.failure(ErrorCode.EXECUTION_ERROR, message)
        return ToolResult(tool_call_id=call_id, is_error=True, output=text, message=message, response=response)
    response = ToolResponse.success({"result": text}, text)
    return ToolResult(tool_call_id=call_id, is_error=False, output=text, message=text, response=response)
