"""`OpenAIModel`: any server that speaks OpenAI's chat API, through the official SDK."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from toolgate.models import failures
from toolgate.models.base import ModelItem, ModelRequest, ModelStop, ModelUsage, StopReason
from toolgate.models.fragments import Fragments
from toolgate.models.sdk import SdkModel

DEFAULT_MODEL = "gpt-5.5"
_REASONS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal", "tool_calls": "tool_calls"}


class OpenAIModel(SdkModel):
    """Streams from OpenAI or a compatible server (`base_url`). The SDK is loaded on first use and never retries."""

    package = "openai"
    client = "AsyncOpenAI"
    key_name = "OPENAI_API_KEY"

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        max_output_tokens: int | None = None,
    ) -> None:
        """`api_key` and `base_url` default to `OPENAI_API_KEY` and `OPENAI_BASE_URL`."""
        super().__init__(model, api_key=api_key, base_url=base_url, timeout=timeout)
        self._limit = {} if max_output_tokens is None else {"max_completion_tokens": max_output_tokens}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Ask, and pass on the answer as it is written."""
        calls, reason, usage = Fragments(), "", None
        answered = refused = False
        async with contextlib.aclosing(self._events(self._arguments(request))) as chunks:
            async for chunk in chunks:
                usage = chunk.usage or usage  # some servers count in every chunk: the last one is the sum
                for choice in (chunk.choices or [])[:1]:
                    answered = True
                    reason = choice.finish_reason or reason
                    delta = choice.delta
                    if delta is None:
                        continue
                    _add(calls, delta.tool_calls or ())
                    refused = refused or bool(delta.refusal)
                    if text := delta.content or delta.refusal:
                        yield text
        if not answered:
            raise failures.nonsense("no choice at all")
        for call in calls.finished():
            yield call
        if usage is not None:
            yield ModelUsage(input_tokens=usage.prompt_tokens or 0, output_tokens=usage.completion_tokens or 0)
        yield ModelStop(reason="refusal" if refused else _REASONS.get(reason, "stop"))

    async def _begin(self, connection: Any, arguments: dict[str, Any]) -> Any:
        return await connection.chat.completions.create(**arguments)

    def _ready(self, connection: Any) -> None:
        connection.chat.completions  # noqa: B018 - the SDK loads it when it is looked at

    def _errors(self, sdk: Any) -> type[Exception]:
        return sdk.OpenAIError  # type: ignore[no-any-return]  # the SDK is loaded by name

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments = {
            "model": self.name,
            "messages": [_sendable(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._limit,
        }
        return {**arguments, "tools": list(request.tools)} if request.tools else arguments


def _add(calls: Fragments, parts: Iterable[Any]) -> None:
    for part in parts:
        name, text = (part.function.name, part.function.arguments) if part.function else (None, None)
        calls.add(part.index, call_id=part.id, name=name, text=text)


def _sendable(message: dict[str, Any]) -> dict[str, Any]:
    """An assistant message that only calls says `null`, as the API documents it; an empty text is refused by some."""
    return {**message, "content": None} if message.get("tool_calls") and not message.get("content") else message
