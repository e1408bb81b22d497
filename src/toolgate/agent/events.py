"""The events of a turn. Every event except partial text is stored before it is emitted."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from toolgate.protocol.approval import ApprovalRequest
from toolgate.protocol.calls import ToolDenied, ToolResult
from toolgate.sessions.types import Usage

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class TextChunk(BaseModel):
    """A piece of the model's answer, as it arrives."""

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
    """The result of a call that the mode allowed."""

    model_config = _FROZEN

    tool_name: str
    call_id: str
    result: ToolResult


class ToolOutput(BaseModel):
    """Live output of a command; only if the loop was created with `live_output`."""

    model_config = _FROZEN

    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str


class ApprovalRequested(BaseModel):
    """A person is asked for approval."""

    model_config = _FROZEN

    request: ApprovalRequest


class ApprovalResolved(BaseModel):
    """The approval request was answered or withdrawn."""

    model_config = _FROZEN

    request_id: str
    allowed: bool
    message: str


class ModelRetry(BaseModel):
    """The model did not answer and is asked again after a pause; only with `live_output`."""

    model_config = _FROZEN

    attempt: int
    """The attempt that follows: 1 is the first retry."""
    of: int
    """How many retries there are."""
    seconds: float
    """Seconds until then."""
    code: str
    """The `ModelError`'s code."""
    message: str


class Activity(BaseModel):
    """What the turn does now, where no other event says it; only with `live_output`."""

    model_config = _FROZEN

    what: Literal["thinking", "retrying", "compacting", "waiting"]
    text: str


class Compacted(BaseModel):
    """Older steps were removed from the model's context, to make room."""

    model_config = _FROZEN

    before_tokens: int
    after_tokens: int
    by: Literal["model", "budget", "person"] = "budget"
    """`model`: it wrote a summary. `budget`: old outputs and steps were left out."""
    summary: str = ""
    """What the model reads in place of the older part."""


class TurnDone(BaseModel):
    """The turn has ended successfully."""

    model_config = _FROZEN

    turn_id: str = ""
    usage: Usage = Usage.model_construct()  # without validation, whose preparation takes time in every start
    """Tokens of the whole turn, as the provider counted them."""
    context_tokens: int = 0
    """The approximate number of tokens of the next request."""
    context_limit: int = 0
    """The number of tokens above which older steps are left out."""


class TurnFailed(BaseModel):
    """The turn has failed or was cancelled; what happened so far is stored."""

    model_config = _FROZEN

    code: str
    """A `ModelError`'s code, `NOTHING_TO_COMPACT`, `HOOK_DENIED`, `CANCELLED`, `SESSION_FENCED`, `STORE_ERROR` or
    `INTERNAL_ERROR`."""
    message: str
    cause: str = ""
    """What went wrong, in one sentence, if it was the model."""
    advice: str = ""
    """What to do about it, in one sentence."""
    retryable: bool = False
    """Whether the same message may succeed a little later."""


AgentEvent = (
    TextChunk
    | ToolCallInfo
    | ToolDenied
    | ToolResultInfo
    | ToolOutput
    | ApprovalRequested
    | ApprovalResolved
    | ModelRetry
    | Activity
    | Compacted
    | TurnDone
    | TurnFailed
)
