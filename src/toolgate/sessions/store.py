"""`SessionStore`: what the agent loop needs of a session store. `SessionManager` implements it."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.content import ImageContent, StoredImage
from toolgate.protocol.modes import AnyMode, ApprovalMode, ToolMode
from toolgate.protocol.ports import Recorder, TodoStore
from toolgate.protocol.record import CallRecord
from toolgate.sessions.management import SessionManagement
from toolgate.sessions.types import (
    ApprovalRow,
    AskedApproval,
    CallRow,
    Context,
    Event,
    Lease,
    Message,
    Recovery,
    Session,
    SessionPermissions,
    StartedTurn,
    StoredHandoff,
    Turn,
    TurnStatus,
    TurnTotals,
    Usage,
)

if TYPE_CHECKING:
    from toolgate.sessions.resume import ResumePoint


class SessionStore(SessionManagement, Protocol):
    """Sessions, and everything that happens in them.

    Every method that writes MUST have written durably when it returns, and MUST have written nothing if it raises.
    Every write takes its place in the session's log in the same transaction that checks the lease: with a `Lease`
    that is no longer the session's it MUST raise `SessionFenced`; without one, `SessionBusy` while someone holds the
    session. An unknown session is `SessionNotFound`. A store that cannot be used raises `StoreError`.
    """

    async def create(
        self,
        mode: AnyMode | None = None,
        *,
        title: str = "",
        user: str = "",
        project: str = "",
        parent_id: str | None = None,
        model: str = "",
        approval_mode: ApprovalMode | str = ApprovalMode.ask,
    ) -> Session:
        """Begin a session. A mode that the operator has not enabled raises `ModeNotEnabled`.

        `parent_id` is the session whose agent starts this one; `list` leaves such sessions out.
        """
        ...

    async def get(self, session_id: str) -> Session:
        """One session."""
        ...

    async def list(
        self, *, user: str | None = None, project: str | None = None, children: bool = False, limit: int = 100
    ) -> list[Session]:
        """Sessions, the latest first; of one user or project if they are given, with sub-agents' if `children`."""
        ...

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        ...

    async def get_mode(self, session_id: str) -> ToolMode:
        """The mode that the session has now. MUST NOT raise: what cannot be read is `chat_safe`, with a warning.

        The warnings are `mode_downgraded`, `invalid_mode_value` and `mode_read_error`. There is no way to set a mode.
        """
        ...

    async def append_message(
        self,
        session_id: str,
        role: str,
        content: str | None,
        *,
        lease: Lease | None = None,
        turn_id: str | None = None,
        tool_calls: Iterable[ToolCall | Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        usage: Usage | None = None,
    ) -> int:
        """Add a message and return its number in the log.

        The calls of an assistant message become `proposed` in the same transaction, and `usage` is added to the turn.
        Content beyond 1 MiB raises `MessageTooLarge`; a role, call or id that makes no sense raises `ValueError`.
        """
        ...

    async def append(
        self,
        lease: Lease,
        entries: Sequence[Message | CallRecord],
        *,
        turn_id: str | None = None,
        handoff_state: str | None = None,
        images: Sequence[ImageContent] = (),
        usage: Usage | None = None,
    ) -> None:
        """Add messages and records of calls in this order, all of them in one transaction: everything or nothing.

        `handoff_state` is the state that another process needs to resume the session; None leaves the stored one
        unchanged. `images` are the pictures that the messages name. `usage` is added to the turn.
        """
        ...

    async def picture(self, session_id: str, sha256: str) -> tuple[str, bytes] | None:
        """The media type and the bytes of a picture of a session; None if it has none with this hash."""
        ...

    async def add_picture(self, session_id: str, image: ImageContent) -> None:
        """Store a picture that a message of the person may name; `SessionNotFound`, `TooManyPictures`."""
        ...

    async def messages(self, session_id: str) -> builtins.list[Message]:
        """The transcript, valid for a provider: every call is answered once, directly after its message.

        A call without an answer gets an error, and an answer without a call is left out. Empty for an unknown session.
        """
        ...

    async def history(self, session_id: str) -> builtins.list[Message]:
        """What people see: the messages of user and assistant that have words or pictures."""
        ...

    async def context(self, session_id: str) -> Context:
        """What the model reads: like `messages`, with the summary in place of the part that it covers."""
        ...

    async def summarise(
        self, lease: Lease, turn_id: str, content: str, steps: int, *, tokens: tuple[int, int], usage: Usage
    ) -> int:
        """Replace everything before the `steps`-th message of `context` with a summary. Tool messages are not counted.

        Writes an event `compacted` with the summary; nothing is removed from the log. `tokens` are the sizes before and
        after, and `usage` is added to the turn.
        """
        ...

    async def restore_context(self, session_id: str) -> bool:
        """Remove the summary, with an event `compacted`; False if there is none. `SessionBusy` during a turn."""
        ...

    async def set_model(self, session_id: str, model: str) -> None:
        """Give a session another model from its next turn on, with an event `model_changed`; needs no lease."""
        ...

    async def try_claim(self, session_id: str, ttl: float = 300.0) -> Lease | None:
        """Take the session for `ttl` seconds; None if another process has it. The fence is greater than all before."""
        ...

    async def renew(self, lease: Lease, ttl: float = 300.0) -> Lease:
        """Extend the lease to `ttl` seconds from now; `SessionFenced` if another process has the session."""
        ...

    async def release(self, lease: Lease) -> bool:
        """Release the session. Does nothing and returns False if another process has it."""
        ...

    async def start_turn(
        self,
        lease: Lease,
        content: str,
        *,
        request_id: str | None = None,
        parent_id: str | None = None,
        deadline: float | None = None,
    ) -> Turn:
        """Begin a turn with the person's message, in one transaction, after `recover`.

        A `request_id` that has started a turn before changes nothing and returns that turn.
        """
        ...

    async def claim_and_start(
        self,
        session_id: str,
        content: str | None,
        *,
        ttl: float,
        request_id: str | None = None,
        project: str | None = None,
        rewind_to: int | None = None,
        images: Sequence[ImageContent | StoredImage] = (),
    ) -> StartedTurn:
        """`try_claim`, `start_turn` and `stored_handoff` in one transaction: all of them or none.

        With `rewind_to`, the message takes the place of the person's message with that number, as after `rewind`. A
        turn without `content` has no message: it summarises the session. `images` are the pictures of the message: with
        their bytes, or as the session has stored them.
        `SessionBusy` if someone has the session; `RequestRepeated` if the request has started a turn before.
        """
        ...

    async def finish_turn(
        self,
        lease: Lease,
        turn_id: str,
        status: TurnStatus,
        *,
        code: str = "",
        error: str = "",
        usage: Usage | None = None,
        release: bool = False,
        handoff_state: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Turn:
        """End a turn; its open approvals are withdrawn. One that has ended already stays as it is.

        `usage` replaces the sum of what the messages of the turn had. `release` gives the session back in the same
        transaction. `handoff_state` is the same as in `append`. `details` are further members of the event
        `turn_finished`; `context_tokens` and `context_limit` among them are stored with the session.
        """
        ...

    async def recover(self, lease: Lease) -> Recovery:
        """Repair what a crash has left, and return what that was.

        Running turns become `interrupted`, calls that had started `unknown`, calls that had not are cancelled, and
        every unanswered call gets its tool message. Falsy if there was nothing to do.
        """
        ...

    async def settle(self, session_id: str) -> Recovery:
        """Do what `recover` does, without a lease. Nothing happens if a process or workers have the session.

        MUST happen in one transaction: other processes never find the session taken because of it.
        """
        ...

    async def resume_turn(self, lease: Lease, turn_id: str, repeats: Callable[[str], bool]) -> ResumePoint:
        """How far a turn got that another process has begun. Its open calls are settled.

        A call that had started is answered with an error, unless `repeats` says that its tool may run again.
        """
        ...

    async def request_cancel(self, session_id: str) -> bool:
        """Ask the process that runs the session's turn to stop it (an event `cancel_requested`); False if none runs."""
        ...

    async def turn(self, turn_id: str) -> Turn | None:
        """One turn."""
        ...

    async def turn_of_request(self, session_id: str, request_id: str) -> Turn | None:
        """The turn that a client's request has started, if it has started one."""
        ...

    async def turns(self, session_id: str) -> builtins.list[Turn]:
        """All turns of a session, oldest first."""
        ...

    async def turn_totals(self, session_id: str) -> TurnTotals:
        """How many turns a session has, how many of them run, and the tokens of all, without reading every turn."""
        ...

    async def running_sessions(self) -> builtins.list[str]:
        """The sessions with a turn that runs, or that ran when its process ended: those that need `recover`."""
        ...

    async def calls(self, session_id: str) -> builtins.list[CallRow]:
        """All tool calls of a session and how far they got, in the order in which they were asked for."""
        ...

    def recorder(self, lease: Lease, turn_id: str | None = None) -> Recorder:
        """The pipeline's recorder for a turn: `ToolContext(recorder=…)`. Its `started` is durable before the call runs.

        Events `decision`, `call_started` and `call_finished`, each with `call_id`, `tool_name` and the payload.
        """
        ...

    def todos(self, lease: Lease) -> TodoStore:
        """The session's to-do list: `ToolContext(todos=…)`."""
        ...

    async def todo_items(self, session_id: str) -> builtins.list[dict[str, str]]:
        """The session's to-do list, for reading only."""
        ...

    async def append_event(
        self, lease: Lease, kind: str, payload: dict[str, Any], *, turn_id: str | None = None
    ) -> int:
        """Write an event of the caller's own kind to the log and return its number."""
        ...

    async def events(self, session_id: str, after_seq: int = 0, *, limit: int = 1000) -> builtins.list[Event]:
        """The log from after a number on, at most `limit` events."""
        ...

    async def last_seq(self, session_id: str) -> int:
        """The number of the last event of a session; 0 if there is none."""
        ...

    def follow(self, session_id: str, after_seq: int = 0) -> AsyncGenerator[Event, None]:
        """The log from after a number on and everything that is added, without end.

        Use `contextlib.aclosing` around it when you leave before it has ended.
        """
        ...

    async def ask(
        self,
        lease: Lease,
        request: ApprovalRequest,
        *,
        turn_id: str | None = None,
        asked_in: tuple[str, str] | None = None,
        timeout: float | None = None,
        once: bool = False,
    ) -> AskedApproval:
        """Store an approval request, with an event `approval_request`.

        `asked_in` is the session and the turn that show it, if they are not the lease's. `timeout` sets its deadline
        by the database's clock. With `once`, a request of the same call that was stored before is returned instead.
        """
        ...

    async def decide(self, approval_id: str, answer: Approval, *, user: str | None = None) -> bool:
        """Answer an approval request, with an event `approval_resolved`; needs no lease.

        The first answer counts: False if it was answered or withdrawn before, or if there is no such request. With
        `user`, there is no such request in another user's session. MUST raise `ChoiceNotOffered` for an answer that
        picks what the request does not offer; the request stays open.
        """
        ...

    async def approval_state(self, approval_id: str) -> tuple[ApprovalRow, float] | None:
        """One approval request, and the seconds that it has waited or had waited when it was answered."""
        ...

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """One approval request, of any session."""
        ...

    async def approvals(self, session_id: str) -> builtins.list[ApprovalRow]:
        """All approval requests of a session, oldest first."""
        ...

    async def pending_approvals(self, session_id: str) -> builtins.list[ApprovalRow]:
        """The open approval requests of a session, oldest first."""
        ...

    async def permissions(self, session_id: str, project: str | None = None) -> SessionPermissions:
        """What a session may do without asking: its approval mode, and what was allowed for the rest of it.

        A sub-agent's session has the approval mode and the rules of the session that a person talks to. MUST be the
        approval mode alone for a session that belongs to another project than `project`, if that is given.
        """
        ...

    async def switch_approval_mode(self, session_id: str, approval_mode: ApprovalMode) -> None:
        """Switch a session to another approval mode, with an event `approval_mode`; needs no lease.

        MUST be called only if a person asked for it. The last switch wins; a sub-agent's session raises `SessionError`.
        """
        ...

    async def remove_permission(self, session_id: str, permission_id: str) -> bool:
        """Remove a permission of a session, with an event `permission_removed`; needs no lease."""
        ...

    async def stored_handoff(self, session_id: str, project: str | None = None) -> StoredHandoff:
        """State needed to resume the session: what a person has allowed, and the state of its shell and files.

        MUST be nothing for a session that belongs to another project than `project`, if that is given.
        """
        ...
