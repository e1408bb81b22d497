"""What the tool formats of the providers have in common: plain objects, and results that are only text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse

Document = dict[str, Any]
"""A JSON object of a provider's format."""


def plain(value: Any) -> Mapping[str, Any]:
    """A JSON object, also out of an object of the provider's SDK."""
    if isinstance(value, Mapping):
        return value
    dumped = value.model_dump()
    if not isinstance(dumped, Mapping):
        raise TypeError(f"{type(value).__name__} is neither a mapping nor an object of an SDK")
    return dumped


def text_of(content: Any) -> str:
    """The text of a content that is a string or a list of parts; parts that are no text are left out."""
    if content is None or isinstance(content, str):
        return content or ""
    parts: Iterable[Any] = content
    return "".join(str(part["text"]) for part in map(plain, parts) if isinstance(part.get("text"), str))


def result_of(call_id: str, text: str, *, is_error: bool = False) -> ToolResult:
    """The result that a text stands for: all that is left of an envelope once a provider has seen it."""
    if is_error:
        message = text or "The tool failed."
        response = ToolResponse.failure(ErrorCode.EXECUTION_ERROR, message)
        return ToolResult(tool_call_id=call_id, is_error=True, output=text, message=message, response=response)
    response = ToolResponse.success({"result": text}, text)
    return ToolResult(tool_call_id=call_id, is_error=False, output=text, message=text, response=response)
