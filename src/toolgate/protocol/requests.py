"""What a client of the gateway may ask for: one method, one model of its parameters."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from toolgate.protocol.content import MAX_IN_A_MESSAGE
from toolgate.protocol.model_requests import MAX_MODEL_NAME, MODEL_METHODS
from toolgate.protocol.project_requests import PROJECT_METHODS
from toolgate.protocol.request_base import (
    MAX_CONTENT,
    NAME,
    REQUEST_ID,
    STRICT,
    AttachedImage,
    OfSession,
    Params,
)
from toolgate.protocol.session_requests import SESSION_METHODS

Id = str | int
"""Chosen by the client, echoed as it came."""

MAX_RENDERED = 128 * 1024
"""Characters of a text that is rendered on request."""

MAX_TITLE = 200
"""Characters of a session's title."""


class Request(BaseModel):
    """One request. Every one but `chat.send` is answered with a `response` or an `error` that carries its `id`."""

    model_config = STRICT

    type: Literal["request"]
    id: str | int = Field(description="Chosen by the client; the frames that answer carry it.")
    method: str = Field(max_length=100)
    params: dict[str, Any] = Field(default_factory=dict)


ApprovalModeName = Literal["ask", "accept_edits", "plan"]
"""What a person wants to be asked about."""


class ChatSend(OfSession):
    """Take a turn. Its frames carry the request's `id`; there is no `response`.

    A message needs words or `images`. A model that takes only text reads the names of `images`.
    """

    content: str = Field(max_length=MAX_CONTENT)
    request_id: str | None = REQUEST_ID
    images: list[AttachedImage] = Field(
        default=[], max_length=MAX_IN_A_MESSAGE, description="Pictures of the message, which the session has."
    )


class ChatHistory(OfSession):
    """What people see of a session: the messages of user and assistant, with their `images` if they have any."""


class ChatCancel(OfSession):
    """End the turn that runs in a session."""


class SessionCreate(Params):
    """Begin a session. A mode that the operator has not enabled is `MODE_NOT_ENABLED`."""

    mode: Literal["chat_safe", "coding"] | None = None
    approval_mode: ApprovalModeName = Field(default="ask", description="What the person wants to be asked about.")
    title: str = Field(default="", max_length=MAX_TITLE)
    model: str | None = Field(
        default=None, min_length=1, max_length=MAX_MODEL_NAME, description="As in `session.model`; None: the default."
    )


class SessionList(Params):
    """The caller's sessions that have a message, the latest first: `{sessions: [row]}`.

    A row has `session_id, mode, title, project, status, archived, snippet, parent_id, created_at, updated_at`. `status`
    is `idle`, `running`, `waiting` (for the person) or `failed` (the last turn).
    """

    search: str = Field(
        default="", max_length=200, description="Words that the title or a message has to contain, in any case."
    )
    archived: bool | None = Field(
        default=False, description="True: only those that are archived; false: only those that are not; null: both."
    )
    limit: int = Field(default=100, ge=1, le=1000)


class SessionGet(OfSession):
    """One session, with its list of work and what it has used."""


class SessionApprovalMode(OfSession):
    """Switch what the person wants to be asked about, at once and also during a turn. The last switch wins.

    `ask`: everything that needs permission. `accept_edits`: writes inside the root that undo can take back run without
    asking. `plan`: nothing that changes anything is offered or runs; the model ends with a plan. The tool mode of a
    session (`mode`) never changes.
    """

    approval_mode: ApprovalModeName


class PermissionsList(OfSession):
    """What the person has allowed for the rest of the session, and in their own policy file for this project."""


class PermissionsRemove(OfSession):
    """Take back something of `permissions.list`."""

    id: str = Field(pattern=NAME)


class SessionRename(OfSession):
    """Give a session another title."""

    title: str = Field(max_length=MAX_TITLE)


class SessionSubscribe(OfSession):
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


class SessionUnsubscribe(OfSession):
    """Stop watching a session."""


class ApprovalRespond(Params):
    """Answer a question; the first answer counts."""

    id: str = Field(pattern=NAME)
    allowed: bool
    message: str = Field(default="", max_length=10_000, description="Reaches the model when the answer is no.")
    remember: bool = Field(
        default=False, description="Remember the rule of `choice`; without a `choice` this exact call, for the session."
    )
    choice: Literal["call", "file", "folder", "command", "prefix"] | None = Field(
        default=None,
        description="Which of the request's `choices` is remembered; needs `remember`. One that is not offered is "
        "`INVALID_PARAMS`, and the question stays open.",
    )
    scope: Literal["session", "project"] | None = Field(
        default=None, description="For how long, one of the choice's `scopes`; needs `choice`. Default: the session."
    )
    approval_mode: Literal["ask", "accept_edits"] | None = Field(
        default=None, description="Accepting a plan (`propose_plan`): the approval mode to go on in. Default: `ask`."
    )
    text: str = Field(
        default="",
        max_length=100_000,
        description="Answering a `question` (`ask_user`): the answer; `allowed: false` declines. "
        "Accepting a plan (`propose_plan`): the plan as the person edited it.",
    )


class ToolsList(Params):
    """Every tool and the modes that it may be used in."""


class TextRender(Params):
    """Render text as sanitised HTML: the blocks of Markdown, or the highlighted lines of code or of a diff.

    Lines of a diff come without their first column. `html` is null where plain text is the better answer.
    """

    text: str = Field(max_length=MAX_RENDERED)
    format: Literal["markdown", "code", "diff"]
    path: str = Field(default="", max_length=4096, description="Names the language of code, like a file or a fence.")


METHODS: dict[str, type[Params]] = {
    "chat.send": ChatSend,
    "chat.history": ChatHistory,
    "chat.cancel": ChatCancel,
    "session.create": SessionCreate,
    "session.list": SessionList,
    "session.get": SessionGet,
    "session.rename": SessionRename,
    "session.approval_mode": SessionApprovalMode,
    "session.subscribe": SessionSubscribe,
    "session.unsubscribe": SessionUnsubscribe,
    "approval.respond": ApprovalRespond,
    "permissions.list": PermissionsList,
    "permissions.remove": PermissionsRemove,
    "tools.list": ToolsList,
    **SESSION_METHODS,
    **PROJECT_METHODS,
    "text.render": TextRender,
    **MODEL_METHODS,
}
"""Name of a method → its parameters."""
