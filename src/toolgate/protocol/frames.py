"""Frames that the gateway sends to every client; those only for clients that ask for details are in `detail_frames`."""

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


class Frame(BaseModel):
    """What every frame has."""

    model_config = _CLOSED

    id: str | int | None
    """The request that this answers; for frames of a turn, the `chat.send` that started it, else the turn's own id."""


class OfSession(Frame):
    """A frame of a session."""

    session_id: str | None = None
    """Only with `details`: the session that the frame belongs to."""
    turn_id: str | None = None
    """Only with `details`: its turn."""
    at: float | None = None
    """Only with `details`, and only for what is in the log: when it was stored, in seconds since the epoch."""


class Durable(OfSession):
    """A frame that is in the log."""

    seq: int = Field(ge=1)
    """The frame's place in the session; only ever rises."""


class Data(BaseModel):
    """What a frame says."""

    model_config = _CLOSED


class Text(Data):
    """A piece of the answer."""

    content: str
    done: bool
    """True in the last frame of a turn, and only there."""


class StreamChunk(OfSession):
    """Text as it comes; `done` ends the turn."""

    type: Literal["stream_chunk"]
    data: Text


class Call(Data):
    """What the model asks for."""

    call_id: str
    tool_name: str
    arguments: dict[str, Any] | str
    """The object, or the string that the model wrote if it is not an object."""


class ToolCallFrame(Durable):
    """The model calls a tool; its `tool_denied` or `tool_result` follows."""

    type: Literal["tool_call"]
    data: Call


class ToolDeniedFrame(Durable):
    """The session's mode does not allow the call. The turn goes on."""

    type: Literal["tool_denied"]
    data: ToolDenied


class ShownImage(Data):
    """A picture of a message or a result."""

    sha256: str = ""
    """The hash of its bytes, by which a message of this session may name it."""
    url: str
    """Where it can be fetched (GET, with the same authorisation)."""
    media_type: str
    width: int
    height: int
    name: str
    """What it is called: a path, or a page of a document."""


class Result(Data):
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
    images: list[ShownImage] = []
    """The pictures of the result; the key is left out if there are none."""


class ToolResultFrame(Durable):
    """A call has ended."""

    type: Literal["tool_result"]
    data: Result


class ApprovalRequestFrame(Durable):
    """A call waits for a person. `detail` is exactly what would happen: the command, or the difference."""

    type: Literal["approval_request"]
    data: ApprovalRequest


class Answer(Data):
    """What became of a question."""

    id: str
    allowed: bool
    message: str


class ApprovalResolvedFrame(Durable):
    """A question was answered, withdrawn, or not answered in time."""

    type: Literal["approval_resolved"]
    data: Answer


class ResponseFrame(Frame):
    """The answer to a request; what is in it depends on the method."""

    type: Literal["response"]
    data: dict[str, Any]


class Failure(Data):
    """What went wrong, in words for a person."""

    code: FrameError
    message: str


class ErrorFrame(OfSession):
    """A request that could not be done, or a turn that failed; then the turn's last chunk follows.

    With `details`, the `turn_finished` before it has the finer code, the cause and the advice.
    """

    type: Literal["error"]
    data: Failure


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
