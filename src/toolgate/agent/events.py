"""What a turn tells whoever watches it. Everything but text in the making is in the store before it is told."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from toolgate.protocol.approval import ApprovalRequest
from toolgate.protocol.calls import ToolDenied, ToolResult
from toolgate.sessions.types import Usage

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class TextChunk(BaseModel):
    """A piece of the model's answer, as it comes."""

    model_config = _FROZEN

    content: str


class ToolCallInfo(BaseModel):
    """The model asks for a tool; its `ToolDenied` or `ToolResultInfo` follows."""

    model_config = _FROZEN

    tool_name: str
    arguments: dict[str, Any] | str
    """The parsed object, or the raw string where it does not parse."""
    call_id: str


class ToolResultInfo(BaseModel):
    """How a call ended that the mode allowed."""

    model_config = _FROZEN

    tool_name: str
    call_id: str
    result: ToolResult


class ToolOutput(BaseModel):
    """What a command prints while it runs; only if the loop was made with `live_output`."""

    model_config = _FROZEN

    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str


class ApprovalRequested(BaseModel):
    """A person is asked."""

    model_config = _FROZEN

    request: ApprovalRequest


class ApprovalResolved(BaseModel):
    """The question is answered, or withdrawn."""

    model_config = _FROZEN

    request_id: str
    allowed: bool
    message: str


class Compacted(BaseModel):
    """Older steps were left out of what the model reads, to fit its context."""

    model_config = _FROZEN

    before_tokens: int
    after_tokens: int


class TurnDone(BaseModel):
    """The turn has ended well."""

    model_config = _FROZEN

    turn_id: str = ""
    usage: Usage = Usage()
    """Tokens of the whole turn, as the provider counted them."""
    context_tokens: int = 0
    """About how many tokens the next request would have."""


class TurnFailed(BaseModel):
    """The turn has ended before it was done; what happened so far is kept."""

    model_config = _FROZEN

    code: str
    """A `ModelError`'s code, `CANCELLED`, `SESSION_FENCED`, `STORE_ERROR` or `INTERNAL_ERROR`."""
    message: str


AgentEvent = (
    TextChunk
    | ToolCallInfo
    | ToolDenied
    | ToolResultInfo
    | ToolOutput
    | ApprovalRequested
    | ApprovalResolved
    | Compacted
    | TurnDone
    | TurnFailed
)
