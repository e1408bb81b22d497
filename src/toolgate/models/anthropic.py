"""`AnthropicModel`: Anthropic's messages API, through the official SDK."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

from toolgate.models import failures
from toolgate.models.anthropic_form import conversation, tool_form
from toolgate.models.base import ModelItem, ModelRequest, ModelStop, ModelUsage, StopReason
from toolgate.models.fragments import Fragments

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

DEFAULT_MODEL = "claude-sonnet-5-5"
_REASONS: dict[str, StopReason] = {"max_tokens": "length", "refusal": "refusal", "tool_use": "tool_calls"}


class AnthropicModel:
    """Streams from Anthropic or a compatible server (`base_url`). The SDK is loaded on first use and never retries."""

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
        self.name = model
        self._options: dict[str, Any] = {"api_key": api_key, "base_url": base_url, "timeout": timeout}
        self._limit = max_output_tokens
        self._client: AsyncAnthropic | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Ask, and pass on the answer as it is written."""
        client = self._connected()
        calls, reason, answered = Fragments(), "", False
        spent = {"input_tokens": 0, "output_tokens": 0}
        async with contextlib.aclosing(_events(client, self._arguments(request))) as events:
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

    async def aclose(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self) -> AsyncAnthropic:
        if self._client is None:
            try:
                from anthropic import AsyncAnthropic
            except ModuleNotFoundError as error:
                raise failures.missing("anthropic", "anthropic") from error
            options = {key: value for key, value in self._options.items() if value is not None}
            self._client = AsyncAnthropic(max_retries=0, **options)
        return self._client

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


async def _events(client: AsyncAnthropic, arguments: dict[str, Any]) -> AsyncGenerator[Any, None]:
    """The SDK's stream, with its errors in our words."""
    import json

    import anthropic
    import httpx2

    try:
        stream = await client.messages.create(**arguments)
        async with stream:
            async for event in stream:
                yield event
    except anthropic.APIStatusError as error:
        raise _from_status(error) from error
    except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
        timed_out = isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException)
        raise failures.unreachable(client.base_url.host, timed_out=timed_out) from error
    except (anthropic.APIError, json.JSONDecodeError) as error:
        said = error.message if isinstance(error, anthropic.APIError) else "what is no JSON"
        raise failures.nonsense(f"an error in its stream: {said[:300]}") from error
    except (anthropic.AnthropicError, TypeError) as error:
        if "auth" not in str(error).lower():
            raise
        raise failures.from_status(401, str(error), {}, key_name="ANTHROPIC_API_KEY") from error


def _from_status(error: Any) -> Exception:
    """Errors in the middle of a stream come with the status of its beginning; what they are is in their body."""
    body = error.body if isinstance(error.body, dict) else {}
    kind = (body.get("error") or {}).get("type", "") if isinstance(body.get("error"), dict) else ""
    status = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}.get(kind, error.status_code)
    return failures.from_status(status, error.message, error.response.headers, key_name="ANTHROPIC_API_KEY")
