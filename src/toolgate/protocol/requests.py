"""What a client of the gateway may ask for: one method, one model of its parameters."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = str | int
"""Chosen by the client, echoed as it came."""

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

LONGEST_CONTENT = 1024 * 1024
"""Characters of a message; its bytes are counted where it is stored."""

LONGEST_TITLE = 200
"""Characters of a session's title."""


class Request(BaseModel):
    """One request. Every one but `chat.send` is answered with a `response` or an `error` that carries its `id`."""

    model_config = _STRICT

    type: Literal["request"]
    id: str | int = Field(description="Chosen by the client; the frames that answer carry it.")
    method: str = Field(max_length=100)
    params: dict[str, Any] = Field(default_factory=dict)


class _Params(BaseModel):
    model_config = _STRICT


_NAME = r"^[A-Za-z0-9_-]{1,100}$"
"""What ids of sessions and questions look like."""


class _OfSession(_Params):
    session_id: str = Field(pattern=_NAME)


class ChatSend(_OfSession):
    """Take a turn. Its frames carry the request's `id`; there is no `response`."""

    content: str = Field(max_length=LONGEST_CONTENT)
    request_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="The idempotency key: a name of the client's own for this message, unique in the session. Sent "
        "again with the same key, under whatever `id`, the message starts no second turn, and the frames of the first "
        "one come again. Without a key every frame starts a turn, also one with an `id` that was used before.",
    )


class ChatHistory(_OfSession):
    """What people see of a session: the messages of user and assistant."""


class ChatCancel(_OfSession):
    """End the turn that runs in a session."""


class SessionCreate(_Params):
    """Begin a session. A mode that the operator has not enabled is `MODE_NOT_ENABLED`."""

    mode: Literal["chat_safe", "coding"] | None = None
    title: str = Field(default="", max_length=LONGEST_TITLE)


class SessionList(_Params):
    """The caller's sessions, the latest first."""

    search: str = Field(default="", max_length=200, description="Words that the title has to contain, in any case.")
    limit: int = Field(default=100, ge=1, le=1000)


class SessionGet(_OfSession):
    """One session, with its list of work and what it has used."""


class SessionRename(_OfSession):
    """Give a session another title."""

    title: str = Field(max_length=LONGEST_TITLE)


class SessionSubscribe(_OfSession):
    """Watch a session: the answer, then everything after `after_seq`, then what happens."""

    after_seq: int = Field(default=0, ge=0, le=2**53)
    details: bool = Field(
        default=False,
        description="Frames say which session and turn they belong to, and there are more of them (see below).",
    )
    render: bool = Field(
        default=False,
        description="Text comes as `markdown`, rendered on the server, in place of `stream_chunk`; needs `details`.",
    )


class SessionUnsubscribe(_OfSession):
    """Stop watching a session."""


class ApprovalRespond(_Params):
    """Answer a question; the first answer counts."""

    id: str = Field(pattern=_NAME)
    allowed: bool
    message: str = Field(default="", max_length=10_000, description="Reaches the model when the answer is no.")
    remember: bool = Field(
        default=False, description="Allow the rule that the request shows for the rest of the session."
    )


class ToolsList(_Params):
    """Every tool and the modes that it may be used in."""


METHODS: dict[str, type[_Params]] = {
    "chat.send": ChatSend,
    "chat.history": ChatHistory,
    "chat.cancel": ChatCancel,
    "session.create": SessionCreate,
    "session.list": SessionList,
    "session.get": SessionGet,
    "session.rename": SessionRename,
    "session.subscribe": SessionSubscribe,
    "session.unsubscribe": SessionUnsubscribe,
    "approval.respond": ApprovalRespond,
    "tools.list": ToolsList,
}
"""Name of a method → its parameters."""
