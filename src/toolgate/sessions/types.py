"""The data that a session store returns: plain and frozen."""

from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from toolgate.protocol.approval import ApprovalChoice, ApprovalRequest, ChoiceId, Scope
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.content import StoredImage
from toolgate.protocol.modes import ApprovalMode, ToolMode

Role = Literal["system", "user", "assistant", "tool"]
TurnStatus = Literal["running", "done", "failed", "cancelled", "interrupted"]
CallState = Literal["proposed", "approved", "started", "finished", "unknown"]
SessionStatus = Literal["idle", "running", "waiting", "failed"]
ApprovalState = Literal["pending", "allowed", "denied", "withdrawn"]

ROLES: frozenset[str] = frozenset(get_args(Role))
ENDINGS: frozenset[str] = frozenset(get_args(TurnStatus)) - {"running"}

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Session(BaseModel):
    """A conversation."""

    model_config = _FROZEN

    id: str
    mode: ToolMode
    """The mode that it has now: what the database says if that mode is enabled, else `chat_safe`."""
    approval_mode: ApprovalMode = ApprovalMode.ask
    """What its person wants to be asked about."""
    title: str = ""
    """The first line that the person wrote, unless it was renamed."""
    user: str = ""
    project: str = ""
    parent_id: str | None = None
    """The session whose agent started this one."""
    created_at: float = 0.0
    """Seconds since the epoch, as all times here."""
    updated_at: float = 0.0
    archived_at: float | None = None
    """When its person archived it; None if it is in the list."""
    model: str = ""
    """The model of its next turn, as `ModelSource.find` understands it; empty: the default."""
    context_tokens: int = 0
    """The approximate number of tokens that its next request has; 0 before its first turn."""
    context_limit: int = 0
    """The number of tokens above which older steps are left out; 0 before its first turn."""
    last_seq: int = 0
    """The number of its last event when it was read."""


class ListedSession(BaseModel):
    """A session as the list shows it."""

    model_config = _FROZEN

    session: Session
    status: SessionStatus
    snippet: str
    """What was found in its messages; empty without a search, or if the title matches."""


class Message(BaseModel):
    """One entry of the transcript, in a provider's terms."""

    model_config = _FROZEN

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant message asks for."""
    tool_call_id: str | None = None
    """The call that a tool message answers."""
    images: tuple[StoredImage, ...] = ()
    """The pictures of a tool message or of the person's; `SessionStore.picture` has their bytes."""

    def to_dict(self) -> dict[str, Any]:
        """The form of OpenAI's chat API."""
        if self.tool_call_id is not None:
            return {"role": self.role, "content": self.content, "tool_call_id": self.tool_call_id}
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls
            ]
        return message


class Lease(BaseModel):
    """The right to write to a session. What counts is owner and fence; they stay the same when it is renewed."""

    model_config = _FROZEN

    session_id: str
    owner: str
    fence: int
    """Greater than that of every lease before it."""
    expires_at: float
    """When it ends unless it is renewed: for people. Stores decide by the clock of the database."""


class Event(BaseModel):
    """One entry of a session's log."""

    model_config = _FROZEN

    session_id: str
    seq: int
    """1, 2, 3, … without gaps."""
    turn_id: str | None
    kind: str
    version: int
    """Of the payload's form."""
    payload: dict[str, Any]
    fence: int
    """The session's fence when it was written."""
    created_at: float = 0.0


class Usage(BaseModel):
    """Tokens, as the model's provider counted them."""

    model_config = _FROZEN

    input_tokens: int = 0
    output_tokens: int = 0


class Turn(BaseModel):
    """One message of a person and everything that was done about it."""

    model_config = _FROZEN

    id: str
    session_id: str
    status: TurnStatus
    attempt: int
    """1, plus one for each time that it was resumed."""
    request_id: str | None
    """The client's own id for what it sent; unique in the session."""
    parent_id: str | None
    """The turn that started this one, for sub-agents."""
    deadline: float | None
    cancel_requested_at: float | None
    usage: Usage
    error: str
    """Why it failed."""
    started_at: float
    finished_at: float | None


class TurnTotals(BaseModel):
    """All turns of a session in numbers."""

    model_config = _FROZEN

    count: int
    running: int
    """How many of them have not ended."""
    usage: Usage


class CallRow(BaseModel):
    """How far a tool call got."""

    model_config = _FROZEN

    session_id: str
    turn_id: str
    call_id: str
    """The provider's id; it may come again in the same turn."""
    ordinal: int
    """0 for the first call with that id in that turn, and so on."""
    tool_name: str
    state: CallState
    status: str | None
    """The envelope's status, once it is finished."""
    code: str | None
    """The envelope's error code, if there was one."""


class Permission(BaseModel):
    """Something that a person has allowed for the rest of a session."""

    model_config = _FROZEN

    id: str
    """The id of the approval request that it was the answer to."""
    choice: ChoiceId
    label: str
    """In plain words."""
    rule: str
    """Exactly what was shown and stored."""
    tool_name: str
    summary: str
    """The summary of the call that was asked about."""
    fingerprint: str
    created_at: float


class SessionPermissions(NamedTuple):
    """What a session may do without asking."""

    approval_mode: ApprovalMode = ApprovalMode.ask
    permissions: tuple[Permission, ...] = ()
    """Oldest first."""


class StoredHandoff(NamedTuple):
    """State needed to resume a session, besides its transcript."""

    allowed: tuple[str, ...] = ()
    """Fingerprints of the calls that its person has allowed for the rest of the session, not of sub-agents'."""
    handoff_state: str = ""
    """The state of its shell, seen files and loaded tools, as `agent.handoff` packs it; empty if there is none."""
    rewound_by: int = 0
    """The number of the last event that took messages out of the transcript; 0 if there is none."""
    permissions: SessionPermissions = SessionPermissions()
    """What the session may do without asking."""


class Recovery(NamedTuple):
    """What was repaired in a session after a crash."""

    session_id: str
    turns: tuple[str, ...]
    """Turns that were running and are `interrupted` now."""
    uncertain: tuple[CallRow, ...]
    """Calls that had started. Their outcome is unknown, so they are not repeated."""

    def __bool__(self) -> bool:
        return bool(self.turns or self.uncertain)


class ApprovalRow(BaseModel):
    """An approval request, and its answer."""

    model_config = _FROZEN

    id: str
    session_id: str
    turn_id: str
    call_id: str
    tool_name: str
    agent: str
    summary: str
    detail: str
    fingerprint: str
    state: ApprovalState
    message: str
    remember: bool
    choices: tuple[ApprovalChoice, ...] = ()
    """What the person was offered to have remembered."""
    choice: ChoiceId = "call"
    """Which of them was picked, if `remember`."""
    scope: Scope = "session"
    approval_mode: ApprovalMode | None = None
    """The approval mode that the answer to a plan switched to."""
    answer: str = ""
    """The answer to a question, or the plan as the person edited it."""
    decided_at: float | None = None


class AskedApproval(NamedTuple):
    """An approval request that was just stored, or had been stored before."""

    request: ApprovalRequest
    row: ApprovalRow
    waited: float
    """Seconds since it was first stored, or until it was answered, by the database's clock."""
    seq: int
    """The last event of the session at that time: an answer that comes later has a higher number."""


class StartedTurn(NamedTuple):
    """A session that was claimed, and the turn that was started in it."""

    lease: Lease
    turn: Turn
    stored_handoff: StoredHandoff
    model: str = ""
    """The session's model; empty: the default."""


class Context(NamedTuple):
    """What a model reads of a session: a summary of its older part, and the messages after that."""

    summary: str = ""
    """Written by a model; empty if there is none."""
    quoted: tuple[str, ...] = ()
    """What the person said in the part that the summary covers."""
    messages: tuple[Message, ...] = ()
    """The rest, valid for a provider."""
