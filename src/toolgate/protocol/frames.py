"""What the gateway sends. `FRAMES` is the plain protocol; `DETAIL_FRAMES` are sent to those who asked for details."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from toolgate.protocol.approval import ApprovalRequest
from toolgate.protocol.calls import ToolDenied

_CLOSED = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

FrameError = Literal[
    "PARSE_ERROR",
    "METHOD_NOT_FOUND",
    "INVALID_PARAMS",
    "SESSION_BUSY",
    "SESSION_FENCED",
    "MODE_NOT_ENABLED",
    "INTERNAL_ERROR",
]


class _Frame(BaseModel):
    model_config = _CLOSED

    id: str | int | None
    """The request that this answers; for frames of a turn, the `chat.send` that started it, else the turn's own id."""


class _Shown(_Frame):
    session_id: str | None = None
    """Only with `details`: the session that the frame belongs to."""
    turn_id: str | None = None
    """Only with `details`: its turn."""


class _Durable(_Shown):
    seq: int = Field(ge=1)
    """The frame's place in the session; only ever rises."""


class _Data(BaseModel):
    model_config = _CLOSED


class Text(_Data):
    """A piece of the answer."""

    content: str
    done: bool
    """True in the last frame of a turn, and only there."""


class StreamChunk(_Shown):
    """Text as it comes; `done` ends the turn."""

    type: Literal["stream_chunk"]
    data: Text


class Call(_Data):
    """What the model asks for."""

    call_id: str
    tool_name: str
    arguments: dict[str, Any] | str
    """The object, or the string that the model wrote where it is none."""


class ToolCallFrame(_Durable):
    """The model calls a tool; its `tool_denied` or `tool_result` follows."""

    type: Literal["tool_call"]
    data: Call


class ToolDeniedFrame(_Durable):
    """The session's mode does not allow the call. The turn goes on."""

    type: Literal["tool_denied"]
    data: ToolDenied


class Result(_Data):
    """How a call ended."""

    call_id: str
    tool_name: str
    status: Literal["success", "partial", "error"]
    text: str
    """The envelope's text."""
    code: str | None
    """The error's code, if there was one."""
    message: str
    """The error's message, else the text."""
    data: dict[str, Any]
    """The envelope's data; what is too long for a frame is left out and said so in `cut`."""
    cut: bool
    """Whether something was left out of `data`."""
    extras: dict[str, Any]
    time_ms: float
    full_output: str | None
    """Where the whole output can be fetched (GET, with the same authorisation), if it was cut for the model."""


class ToolResultFrame(_Durable):
    """A call has ended."""

    type: Literal["tool_result"]
    data: Result


class Question(ApprovalRequest):
    """A question to a person. `detail` is exactly what would happen: the command, or the difference."""

    deadline: float | None = None
    """When it counts as answered with no, in seconds since the epoch."""


class ApprovalRequestFrame(_Durable):
    """A call waits for a person."""

    type: Literal["approval_request"]
    data: Question


class Answer(_Data):
    """What became of a question."""

    id: str
    allowed: bool
    message: str


class ApprovalResolvedFrame(_Durable):
    """A question was answered, withdrawn, or not answered in time."""

    type: Literal["approval_resolved"]
    data: Answer


class ResponseFrame(_Frame):
    """The answer to a request; what is in it depends on the method."""

    type: Literal["response"]
    data: dict[str, Any]


class Failure(_Data):
    """What went wrong, in words for a person."""

    code: FrameError
    message: str


class ErrorFrame(_Shown):
    """A request that could not be done, or a turn that failed; then the turn's last chunk follows."""

    type: Literal["error"]
    data: Failure


class Nothing(_Data):
    """Nothing more to say."""


class TurnStartedFrame(_Durable):
    """A turn begins."""

    type: Literal["turn_started"]
    data: Nothing


class Said(_Data):
    """A person's message."""

    content: str


class UserMessageFrame(_Durable):
    """What the person said."""

    type: Literal["user_message"]
    data: Said


class TextEndFrame(_Durable):
    """The text that came since the last durable frame is stored; what comes next is another message."""

    type: Literal["text_end"]
    data: Nothing


class Started(_Data):
    """Which call."""

    call_id: str


class ToolStartedFrame(_Durable):
    """The call was let through every gate and runs now."""

    type: Literal["tool_started"]
    data: Started


class Output(_Data):
    """What a command prints."""

    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str
    dropped: int
    """Characters before this that were left out because the client reads too slowly."""


class ToolOutputFrame(_Shown):
    """Output of a running command, as it comes. Not durable: the result has what counts."""

    type: Literal["tool_output"]
    data: Output


class Todos(_Data):
    """The whole list."""

    items: list[dict[str, str]]


class TodosFrame(_Durable):
    """The session's list of work has changed."""

    type: Literal["todos"]
    data: Todos


class Compaction(_Data):
    """Tokens, estimated."""

    before_tokens: int
    after_tokens: int


class CompactedFrame(_Durable):
    """Older steps were left out of what the model reads."""

    type: Literal["compacted"]
    data: Compaction


class Child(_Data):
    """A sub-agent's own session, which can be subscribed to."""

    session_id: str
    agent: str
    description: str
    call_id: str


class AgentStartedFrame(_Durable):
    """A call has started a sub-agent."""

    type: Literal["agent_started"]
    data: Child


class Tokens(_Data):
    """As the model's provider counted them."""

    input_tokens: int
    output_tokens: int


class Ending(_Data):
    """How a turn ended."""

    status: Literal["done", "failed", "cancelled", "interrupted"]
    code: str
    """Why it failed, finer than the `error` frame says."""
    message: str
    usage: Tokens


class TurnFinishedFrame(_Durable):
    """The turn has ended; its last chunk follows."""

    type: Literal["turn_finished"]
    data: Ending


class Patches(_Data):
    """Changes of the rendered message."""

    patches: list[dict[str, Any]]
    """`{"at": n, "html": [...]}`: keep n blocks, put these behind them; `{"append": text}`: add to the last one."""


class MarkdownFrame(_Shown):
    """The message in the making, as sanitised HTML."""

    type: Literal["markdown"]
    data: Patches


FRAMES: tuple[type[BaseModel], ...] = (
    StreamChunk,
    ToolCallFrame,
    ToolDeniedFrame,
    ToolResultFrame,
    ApprovalRequestFrame,
    ApprovalResolvedFrame,
    ResponseFrame,
    ErrorFrame,
)
DETAIL_FRAMES: tuple[type[BaseModel], ...] = (
    TurnStartedFrame,
    UserMessageFrame,
    TextEndFrame,
    ToolStartedFrame,
    ToolOutputFrame,
    TodosFrame,
    CompactedFrame,
    AgentStartedFrame,
    TurnFinishedFrame,
    MarkdownFrame,
)
