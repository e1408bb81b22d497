"""`AnthropicModel`: Anthropic's messages API."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from toolgate.models import errors
from toolgate.models.anthropic_format import conversation, tool_definition
from toolgate.models.base import ModelItem, ModelRequest, ModelStop, ModelUsage, StopReason
from toolgate.models.sdk import END, TIMEOUT, TOTAL_TIMEOUT, SdkModel, number_of, object_of, parse_object, text_of
from toolgate.models.tool_calls import ToolCallAssembler

if TYPE_CHECKING:
    from toolgate.models.catalog import CatalogEndpoint

DEFAULT_MODEL = "claude-sonnet-5-5"
_VERSION = "2023-06-01"
_REASONS: dict[str, StopReason] = {"max_tokens": "length", "refusal": "refusal", "tool_use": "tool_calls"}
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout_error": 408,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""The HTTP status that corresponds to each error type in a stream."""


def listing(address: str, key: str | None) -> CatalogEndpoint:
    """Where a server with this protocol lists its models."""
    from toolgate.models.catalog import CatalogEndpoint

    headers = {"anthropic-version": _VERSION} | ({} if key is None else {"x-api-key": key})
    return CatalogEndpoint(url=f"{address.rstrip('/')}/v1/models?limit=1000", headers=headers)


class AnthropicModel(SdkModel):
    """Streams from Anthropic or a compatible server (`base_url`). It never retries."""

    package = "anthropic"
    client = "AsyncAnthropic"
    sdk_error = "AnthropicError"
    sdk_variables = ("ANTHROPIC_CUSTOM_HEADERS",)
    key_name = "ANTHROPIC_API_KEY"
    address_name = "ANTHROPIC_BASE_URL"
    server = "https://api.anthropic.com"
    path = "/v1/messages"

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = TIMEOUT,
        total_timeout: float = TOTAL_TIMEOUT,
        max_output_tokens: int = 8192,
    ) -> None:
        """`api_key` and `base_url` default to `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`."""
        super().__init__(model, api_key=api_key, base_url=base_url, timeout=timeout, total_timeout=total_timeout)
        self._limit = max_output_tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Send the request and yield the response as it arrives."""
        calls, reason, kind = ToolCallAssembler(), "", ""
        spent = {"input_tokens": 0, "output_tokens": 0}
        deadlines = self._deadlines()
        async with contextlib.aclosing(self._events(self._arguments(request), deadlines)) as events:
            async for event in events:
                kind = text_of(event, "type")
                if kind == "message_start":
                    _count(spent, object_of(object_of(event, "message"), "usage"))
                elif kind == "message_delta":
                    reason = text_of(object_of(event, "delta"), "stop_reason") or reason
                    _count(spent, object_of(event, "usage"))
                elif kind in ("content_block_start", "content_block_delta"):
                    text = _content(event, calls)
                    if any(value for name, value in object_of(event, "delta").items() if name != "type"):
                        deadlines.content_arrived()
                    if calls.refused:
                        break
                    if text:
                        yield text
                        deadlines.content_arrived()
        if not kind:
            raise errors.invalid_response("nothing")
        if kind != END["type"] and not (reason or calls.refused):
            raise errors.incomplete_response()
        for call in calls.finished():
            yield call
        yield ModelUsage(**spent)
        yield ModelStop(reason=_REASONS.get(reason, "stop"))

    def _parse_event(self, name: str, data: str) -> dict[str, Any] | None:
        if name != "error":
            return parse_object(data) if name not in ("", "ping") and data else None
        error = object_of(parse_object(data), "error")
        said = text_of(error, "message") or data
        status = _STATUSES.get(text_of(error, "type"))
        if status is None:
            raise errors.error_in_stream(self._without_key(said))
        raise self._status_error(status, said, {})

    def _is_end(self, name: str, data: str) -> bool:
        return name == "message_stop"

    def _headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": _VERSION}

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        system, messages = conversation(request.messages)
        arguments: dict[str, Any] = {
            "model": self.name,
            "max_tokens": self._limit,
            "messages": messages,
            "stream": True,
        }
        if system:
            arguments["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        if request.tools:
            arguments["tools"] = [tool_definition(tool) for tool in request.tools]
        return arguments


def _content(event: dict[str, Any], calls: ToolCallAssembler) -> str:
    """Return the text in a content event. Parts of a tool call are added to `calls`."""
    found = event.get("index")
    index = found if isinstance(found, int) else None
    block, delta = object_of(event, "content_block"), object_of(event, "delta")
    if block.get("type") == "tool_use":
        calls.add(index, call_id=text_of(block, "id"), name=text_of(block, "name"))
    elif delta.get("type") == "input_json_delta":
        calls.add(index, text=text_of(delta, "partial_json"))
    elif delta.get("type") == "text_delta":
        return text_of(delta, "text")
    return ""


def _count(spent: dict[str, int], usage: dict[str, Any]) -> None:
    """Add one usage report. Its numbers are running totals, and cached input counts as input."""
    if isinstance(usage.get("input_tokens"), int):
        read = [number_of(usage, f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
        spent["input_tokens"] = max(spent["input_tokens"], sum(read))
    spent["output_tokens"] = max(spent["output_tokens"], number_of(usage, "output_tokens"))
