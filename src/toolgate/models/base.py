"""The interface of model clients: a request goes in; text and tool calls come out as they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from toolgate.protocol.calls import ToolCall


class ModelRequest(NamedTuple):
    """The input of one model request."""

    messages: Sequence[dict[str, Any]]
    """The conversation in the format of OpenAI's chat API, system prompt first.

    For a model with `vision = True`, messages of tools and of the user may also have `images`: a tuple of
    `ImageContent`.
    """
    tools: Sequence[dict[str, Any]] = ()
    """`ToolRegistry.get_tools_schema(mode)`."""


class ModelUsage(NamedTuple):
    """Token counts of one request, as the provider reported them."""

    input_tokens: int = 0
    output_tokens: int = 0


StopReason = Literal["stop", "tool_calls", "length", "refusal"]


class ModelStop(NamedTuple):
    """Why the model stopped. `length`: output limit reached. `refusal`: the model or a filter declined."""

    reason: StopReason


ModelItem = str | ToolCall | ModelUsage | ModelStop
"""A piece of text, a complete tool call, the token counts, or the reason for stopping."""


@runtime_checkable
class ModelClient(Protocol):
    """A language model.

    `stream` MUST yield text as soon as it arrives. It MUST yield every tool call once, complete, with the arguments
    exactly as the model wrote them, even if they are invalid JSON. It MAY yield `ModelUsage` and `ModelStop`. It MUST
    raise `ModelError` on failure, and release its connection when it is closed or cancelled. It MUST NOT retry and
    MUST NOT run tools. A client MAY have an attribute `vision`; only if it is True, messages have `images`.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Send the request and yield the response as it arrives."""
        ...
