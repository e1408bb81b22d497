"""`OpenAIModel`: any server that speaks OpenAI's chat API, through the official SDK."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from toolgate.models import failures
from toolgate.models.base import ModelItem, ModelRequest, ModelStop, ModelUsage, StopReason
from toolgate.models.fragments import Fragments

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_MODEL = "gpt-5.5"
_REASONS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal", "tool_calls": "tool_calls"}


class OpenAIModel:
    """Streams from OpenAI or a compatible server (`base_url`). The SDK is loaded on first use and never retries."""

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
        self.name = model
        self._options: dict[str, Any] = {"api_key": api_key, "base_url": base_url, "timeout": timeout}
        self._limit = {} if max_output_tokens is None else {"max_completion_tokens": max_output_tokens}
        self._client: AsyncOpenAI | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Ask, and pass on the answer as it is written."""
        client = self._connected()
        calls, reason, usage = Fragments(), "", None
        answered = refused = False
        async with contextlib.aclosing(_chunks(client, self._arguments(request))) as chunks:
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

    async def aclose(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            try:
                from openai import AsyncOpenAI, OpenAIError
            except ModuleNotFoundError as error:
                raise failures.missing("openai", "openai") from error
            options = {key: value for key, value in self._options.items() if value is not None}
            try:
                self._client = AsyncOpenAI(max_retries=0, **options)
            except OpenAIError as error:
                raise failures.from_status(401, str(error), {}, key_name="OPENAI_API_KEY") from error
        return self._client

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


async def _chunks(client: AsyncOpenAI, arguments: dict[str, Any]) -> AsyncGenerator[Any, None]:
    """The SDK's stream, with its errors in our words."""
    import json

    import httpx2
    import openai

    try:
        stream = await client.chat.completions.create(**arguments)
        async with stream:
            async for chunk in stream:
                yield chunk
    except openai.APIStatusError as error:
        raise failures.from_status(
            error.status_code, error.message, error.response.headers, key_name="OPENAI_API_KEY"
        ) from error
    except (openai.APIConnectionError, httpx2.HTTPError) as error:
        timed_out = isinstance(error, openai.APITimeoutError | httpx2.TimeoutException)
        raise failures.unreachable(client.base_url.host, timed_out=timed_out) from error
    except (openai.APIError, json.JSONDecodeError) as error:  # an error event in the stream, or no JSON in it
        said = error.message if isinstance(error, openai.APIError) else "what is no JSON"
        raise failures.nonsense(f"an error in its stream: {said[:300]}") from error
