"""Frames that the gateway sends to clients that asked for details."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from toolgate.protocol.frames import Data, Durable, OfSession, ShownImage


class Nothing(Data):
    """Nothing more to say."""


class TurnStart(Data):
    """When a turn began."""

    at: float | None = None
    """Seconds since the epoch, by the gateway's clock."""


class TurnStartedFrame(Durable):
    """A turn begins."""

    type: Literal["turn_started"]
    data: TurnStart


class Said(Data):
    """A person's message."""

    content: str
    images: list[ShownImage] = []
    """The pictures of the message; the key is left out if there are none."""


class UserMessageFrame(Durable):
    """What the person said."""

    type: Literal["user_message"]
    data: Said


class TextEndFrame(Durable):
    """The text that came since the last durable frame is stored; what comes next is another message."""

    type: Literal["text_end"]
    data: Nothing


class Started(Data):
    """Which call."""

    call_id: str


class ToolStartedFrame(Durable):
    """The call was let through every gate and runs now."""

    type: Literal["tool_started"]
    data: Started


class Output(Data):
    """What a command prints."""

    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str
    dropped: int
    """Characters before this that were left out: the client reads too slowly, or the command prints too fast."""


class ToolOutputFrame(OfSession):
    """Output of a running command, as it comes. Not durable: the result has what counts."""

    type: Literal["tool_output"]
    data: Output


class Todos(Data):
    """The whole list."""

    items: list[dict[str, str]]


class TodosFrame(Durable):
    """The session's list of work has changed."""

    type: Literal["todos"]
    data: Todos


class Approvals(Data):
    """What the person wants to be asked about from now on."""

    approval_mode: Literal["ask", "accept_edits", "plan"]


class ApprovalModeFrame(Durable):
    """The person has switched the approval mode, here or elsewhere. It belongs to no turn."""

    type: Literal["approval_mode"]
    data: Approvals


class Removed(Data):
    """Which permission."""

    id: str


class PermissionRemovedFrame(Durable):
    """The person has taken back something that was allowed for the rest of the session."""

    type: Literal["permission_removed"]
    data: Removed


class Compaction(Data):
    """What was left out. Tokens are estimated."""

    before_tokens: int
    after_tokens: int
    by: Literal["model", "budget", "person"] = "budget"
    """`model`: it wrote a summary. `budget`: old outputs and steps were left out. `person`: took the summary back."""
    summary: str = ""
    """The summary that the model reads in place of the older part."""


class Change(Data):
    """Which model."""

    model: str


class ModelChangedFrame(Durable):
    """The session has another model from its next turn on; an empty name is the default."""

    type: Literal["model_changed"]
    data: Change


class Retry(Data):
    """Why the model is asked again, and when."""

    attempt: int
    """The attempt that follows: 1 is the first retry."""
    of: int
    """How many retries there are."""
    seconds: float
    """Seconds until then."""
    code: str
    """Why, as in `turn_finished`."""
    message: str


class ModelRetryFrame(Durable):
    """The model did not answer and is asked again."""

    type: Literal["model_retry"]
    data: Retry


class Doing(Data):
    """What the turn does now, where no other frame says it."""

    what: Literal["thinking", "retrying", "compacting", "waiting"]
    text: str


class ActivityFrame(Durable):
    """What the turn does now: the model summarises the older part of the session."""

    type: Literal["activity"]
    data: Doing


class CompactedFrame(Durable):
    """Older steps were left out of what the model reads."""

    type: Literal["compacted"]
    data: Compaction


class RefusedFile(Data):
    """A file that was not taken back."""

    path: str
    reason: str


class FilesTakenBack(Data):
    """What became of the files that were changed since."""

    restored: list[str]
    refused: list[RefusedFile]


class Rewind(Data):
    """Where the person went back to."""

    to_seq: int
    """The `user_message` with this `seq` and everything after it have left the conversation."""
    files: FilesTakenBack | None
    """None if the files were left as they are."""


class RewoundFrame(Durable):
    """The person went back to before an earlier message."""

    type: Literal["rewound"]
    data: Rewind


class FilesTakenBackFrame(Durable):
    """The person took back what the session had changed in files."""

    type: Literal["files_taken_back"]
    data: FilesTakenBack


class Origin(Data):
    """The session that this one was made from."""

    session_id: str
    seq: int
    """The first event of that session that is not in this one."""


class ForkedFrame(Durable):
    """What comes before this was copied from another session."""

    type: Literal["forked"]
    data: Origin


class SessionDeletedFrame(OfSession):
    """The session was deleted; nothing more comes. Not durable: there is no log any more."""

    type: Literal["session_deleted"]
    data: Nothing


class Child(Data):
    """A sub-agent's own session, which can be subscribed to."""

    session_id: str
    agent: str
    description: str
    call_id: str


class AgentStartedFrame(Durable):
    """A call has started a sub-agent."""

    type: Literal["agent_started"]
    data: Child


class Tokens(Data):
    """As the model's provider counted them."""

    input_tokens: int
    output_tokens: int


class Ending(Data):
    """How a turn ended."""

    status: Literal["done", "failed", "cancelled", "interrupted"]
    code: str
    """Why it failed, finer than the `error` frame says."""
    message: str
    usage: Tokens
    context_tokens: int = 0
    """The approximate number of tokens of the next request."""
    context_limit: int = 0
    """The number of tokens above which older steps are left out; 0 if it is not known."""
    cause: str = ""
    """What went wrong, in one sentence, if it was the model."""
    advice: str = ""
    """What to do about it, in one sentence."""
    retryable: bool = False
    """Whether the same message may succeed a little later."""
    seconds: float | None = None
    """How long the turn took, without the time in which it waited for a person; null in logs of earlier versions."""
    waited_seconds: float | None = None
    """How long it waited for a person."""


class TurnFinishedFrame(Durable):
    """The turn has ended; its last chunk follows."""

    type: Literal["turn_finished"]
    data: Ending


class Patches(Data):
    """Changes of the rendered message."""

    patches: list[dict[str, Any]]
    """`{"at": n, "html": [...]}`: keep n blocks, put these after them; `{"append": text}`: add to the last one."""


class MarkdownFrame(OfSession):
    """The message in the making, as sanitised HTML."""

    type: Literal["markdown"]
    data: Patches


DETAIL_FRAMES: tuple[type[BaseModel], ...] = (
    TurnStartedFrame,
    UserMessageFrame,
    TextEndFrame,
    ToolStartedFrame,
    ToolOutputFrame,
    TodosFrame,
    ApprovalModeFrame,
    PermissionRemovedFrame,
    CompactedFrame,
    RewoundFrame,
    FilesTakenBackFrame,
    ForkedFrame,
    SessionDeletedFrame,
    ModelChangedFrame,
    ModelRetryFrame,
    ActivityFrame,
    AgentStartedFrame,
    TurnFinishedFrame,
    MarkdownFrame,
)
