"""`OpenAIModel`: any server with OpenAI's chat API."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from toolgate.models import errors
from toolgate.models.base import ModelItem, ModelRequest, ModelStop, ModelUsage, StopReason
from toolgate.models.openai_format import messages_of
from toolgate.models.sdk import END, TIMEOUT, TOTAL_TIMEOUT, SdkModel, number_of, object_of, parse_object, text_of
from toolgate.models.tool_calls import ToolCallAssembler

if TYPE_CHECKING:
    from toolgate.models.catalog import CatalogEndpoint

DEFAULT_MODEL = "gpt-5.5"
_REASONS: dict[str, StopReason] = {"length": "length", "content_filter": "refusal", "tool_calls": "tool_calls"}


_OWN_SERVER = "https://api.openai.com/"
_NO_CHAT = (
    r"embed|whisper|tts|dall-e|moderation|babbage|davinci|gpt-image|sora|realtime|audio|transcribe"
    r"|computer-use|-search-"
)
"""Names of OpenAI's own models that do not chat."""


def listing(address: str, key: str | None) -> CatalogEndpoint:
    """Where a server with this protocol lists its models."""
    from toolgate.models.catalog import CatalogEndpoint

    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    exclude = _NO_CHAT if address.startswith(_OWN_SERVER) else ""
    return CatalogEndpoint(url=f"{address.rstrip('/')}/models", headers=headers, exclude=exclude)


class OpenAIModel(SdkModel):
    """Streams from OpenAI or a compatible server (`base_url`). It never retries."""

    package = "openai"
    client = "AsyncOpenAI"
    sdk_error = "OpenAIError"
    sdk_variables = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
    key_name = "OPENAI_API_KEY"
    address_name = "OPENAI_BASE_URL"
    server = "https://api.openai.com/v1"
    path = "/chat/completions"

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = TIMEOUT,
        total_timeout: float = TOTAL_TIMEOUT,
        max_output_tokens: int | None = None,
    ) -> None:
        """`api_key` and `base_url` default to `OPENAI_API_KEY` and `OPENAI_BASE_URL`."""
        super().__init__(model, api_key=api_key, base_url=base_url, timeout=timeout, total_timeout=total_timeout)
        self._limit = {} if max_output_tokens is None else {"max_completion_tokens": max_output_tokens}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Send the request and yield the response as it arrives."""
        calls, reason, usage = ToolCallAssembler(), "", None
        answered = refused = is_complete = False
        deadlines = self._deadlines()
        async with contextlib.aclosing(self._events(self._arguments(request), deadlines)) as chunks:
            async for chunk in chunks:
                is_complete = is_complete or chunk is END
                usage = object_of(chunk, "usage") or usage  # some servers send running totals: the last one counts
                choice = _first(chunk, "choices")
                if choice is None:
                    continue
                answered = True
                reason = text_of(choice, "finish_reason") or reason
                delta = object_of(choice, "delta")
                if any(value for name, value in delta.items() if name != "role"):
                    deadlines.content_arrived()
                _add(calls, delta.get("tool_calls"))
                if calls.refused:
                    break
                refused = refused or bool(delta.get("refusal"))
                if text := text_of(delta, "content") or text_of(delta, "refusal"):
                    yield text
                    deadlines.content_arrived()
        if not answered:
            raise errors.invalid_response("no choice at all")
        if not (is_complete or reason or calls.refused):
            raise errors.incomplete_response()
        for call in calls.finished():
            yield call
        if usage is not None:
            yield ModelUsage(
                input_tokens=number_of(usage, "prompt_tokens"), output_tokens=number_of(usage, "completion_tokens")
            )
        yield ModelStop(reason="refusal" if refused else _REASONS.get(reason, "stop"))

    def _parse_event(self, name: str, data: str) -> dict[str, Any] | None:
        if not data:
            return None
        event = parse_object(data)
        if error := event.get("error"):
            said = text_of(error, "message") if isinstance(error, dict) else str(error)
            raise errors.error_in_stream(self._without_key(said or str(error)))
        return event

    def _is_end(self, name: str, data: str) -> bool:
        return data.startswith("[DONE]")

    def _headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"}

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments = {
            "model": self.name,
            "messages": messages_of(request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._limit,
        }
        return {**arguments, "tools": list(request.tools)} if request.tools else arguments


def _add(calls: ToolCallAssembler, parts: Any) -> None:
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            function = object_of(part, "function")
            index = part.get("index")
            calls.add(
                index if isinstance(index, int) else None,
                call_id=text_of(part, "id"),
                name=text_of(function, "name"),
                text=text_of(function, "arguments"),
            )


def _first(value: Any, key: str) -> dict[str, Any] | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else None
