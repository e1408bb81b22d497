"""`AnthropicModel`: Anthropic's messages API, through the official SDK."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from toolgate.models import failures
from toolgate.models.anthropic_form import conversation, tool_form
from toolgate.models.base import ModelItem, ModelRequest, ModelStop, ModelUsage, StopReason
from toolgate.models.fragments import Fragments
from toolgate.models.on_demand import load
from toolgate.models.sdk import SdkModel

DEFAULT_MODEL = "claude-sonnet-5-5"
_REASONS: dict[str, StopReason] = {"max_tokens": "length", "refusal": "refusal", "tool_use": "tool_calls"}
_STATUSES = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}


class AnthropicModel(SdkModel):
    """Streams from Anthropic or a compatible server (`base_url`). The SDK is loaded on first use and never retries."""

    package = "anthropic"
    client = "AsyncAnthropic"
    key_name = "ANTHROPIC_API_KEY"

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        max_output_tokens: int = 8192,
    ) -> None:
        """`api_key` and `base_url` default to `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`."""
        super().__init__(model, api_key=api_key, base_url=base_url, timeout=timeout)
        self._limit = max_output_tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Ask, and pass on the answer as it is written."""
        calls, reason, answered = Fragments(), "", False
        spent = {"input_tokens": 0, "output_tokens": 0}
        async with contextlib.aclosing(self._events(self._arguments(request))) as events:
            async for event in events:
                answered = True
                if event.type == "message_start":
                    _count(spent, event.message.usage)
                elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                    calls.add(event.index, call_id=event.content_block.id, name=event.content_block.name)
                elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    calls.add(event.index, text=event.delta.partial_json)
                elif event.type == "content_block_delta" and event.delta.type == "text_delta" and event.delta.text:
                    yield event.delta.text
                elif event.type == "message_delta":
                    reason = event.delta.stop_reason or reason
                    _count(spent, event.usage)
        if not answered:
            raise failures.nonsense("nothing")
        for call in calls.finished():
            yield call
        yield ModelUsage(**spent)
        yield ModelStop(reason=_REASONS.get(reason, "stop"))

    async def _begin(self, connection: Any, arguments: dict[str, Any]) -> Any:
        try:
            return await connection.messages.create(**arguments)
        except (TypeError, self._errors(load(self.package))) as error:  # the SDK finds out late that there is no key
            if hasattr(error, "request") or "auth" not in str(error).lower():
                raise
            raise failures.from_status(401, str(error), {}, key_name=self.key_name) from error

    def _ready(self, connection: Any) -> None:
        connection.messages  # noqa: B018 - the SDK loads it when it is looked at

    def _status(self, error: Any) -> int:
        """Errors in the middle of a stream come with the status of its beginning; what they are is in their body."""
        body = error.body if isinstance(error.body, dict) else {}
        kind = body["error"].get("type", "") if isinstance(body.get("error"), dict) else ""
        return _STATUSES.get(kind, super()._status(error))

    def _errors(self, sdk: Any) -> type[Exception]:
        return sdk.AnthropicError  # type: ignore[no-any-return]  # the SDK is loaded by name

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
            arguments["tools"] = [tool_form(tool) for tool in request.tools]
        return arguments


def _count(spent: dict[str, int], usage: Any) -> None:
    """Counts are running totals; what came from or went to the cache was read, too."""
    if usage is None:
        return
    read = [getattr(usage, f"{kind}input_tokens", None) for kind in ("", "cache_creation_", "cache_read_")]
    if read[0] is not None:
        spent["input_tokens"] = max(spent["input_tokens"], sum(number or 0 for number in read))
    spent["output_tokens"] = max(spent["output_tokens"], usage.output_tokens or 0)
