"""What a model client is: a request goes in, text and tool calls come out as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from toolgate.protocol.calls import ToolCall


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that a model is told."""

    messages: Sequence[dict[str, Any]]
    """The conversation in the form of OpenAI's chat API, the system prompt first."""
    tools: Sequence[dict[str, Any]] = ()
    """`ToolRegistry.get_tools_schema(mode)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """Tokens of one request, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


StopReason = Literal["stop", "tool_calls", "length", "refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStop:
    """Why the model stopped. `length`: its output limit was reached; `refusal`: it or a filter declined."""

    reason: StopReason


ModelItem = str | ToolCall | ModelUsage | ModelStop
"""A piece of text, a whole call, the tokens that were used, or why it stopped."""


@runtime_checkable
class ModelClient(Protocol):
    """A language model.

    `stream` MUST yield text as soon as it comes and every tool call once, whole, with the arguments as they were
    written, valid JSON or not. It MAY yield `ModelUsage` and `ModelStop`. It MUST raise `ModelError` for what goes
    wrong, and let go of its connection when it is closed or cancelled. It MUST NOT retry, and MUST NOT run anything.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Ask, and pass on the answer as it is written."""
        ...
