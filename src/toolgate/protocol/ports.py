"""Ports: what lower rooms need from higher ones, as Protocols. Only `compose.py` knows the implementations."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.content import StoredImage
from toolgate.protocol.record import CallRecord


@runtime_checkable
class Approver(Protocol):
    """Decides about a call that needs permission.

    MUST answer with an `Approval`. MUST NOT run anything. Anything that it raises counts as no.
    """

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask, wait, answer."""
        ...


@runtime_checkable
class Unattended(Approver, Protocol):
    """An approver that may answer without a person. It is told which rules would have allowed a denied call.

    `advise` MUST NOT raise. It is called after every denial, in the task that asked.
    """

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Return whether no person has looked at the request: then the model's answer names the rules, too.

        `rules` finds the narrowest rules of the user's policy that allow the call, as TOML; None if none can.
        """
        ...


@runtime_checkable
class Recorder(Protocol):
    """Stores records of calls.

    MUST have stored a record durably when `record` returns: a call is executed only after its `started` record.
    MUST NOT change the record. A recorder that raises stops the call before it is executed.
    """

    async def record(self, record: CallRecord) -> None:
        """Store one record."""
        ...


@runtime_checkable
class MemoryStore(Protocol):
    """Long-term notes. `search` MUST return the best matches first and at most `limit` of them."""

    async def append(self, content: str) -> None:
        """Keep one note."""
        ...

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """Find notes."""
        ...


@runtime_checkable
class TodoStore(Protocol):
    """The session's to-do list. `replace` MUST store the whole list or nothing."""

    async def replace(self, items: list[dict[str, str]]) -> None:
        """Replace the list."""
        ...

    async def items(self) -> list[dict[str, str]]:
        """The list as it is."""
        ...


class Skill(NamedTuple):
    """A folder with instructions for the model."""

    name: str
    description: str
    source: Literal["user", "project"]
    path: str
    """Where its folder is: relative to the project, or absolute if it is the user's."""


@runtime_checkable
class SkillStore(Protocol):
    """The skills of a user and a project. Both methods read files, so call them in a thread.

    MUST NOT follow links out of a project's skill, and MUST NOT return more than a bounded amount.
    """

    def all(self) -> list[Skill]:
        """The valid ones."""
        ...

    def read(self, name: str, file: str = "") -> tuple[Skill, str, list[str]]:
        """A skill, its instructions or one of its files, and the names of its files. Raises `ToolError`."""
        ...


@runtime_checkable
class AgentRunner(Protocol):
    """Runs sub-agents. `run` MUST confine the child to tools that its parent has."""

    async def run(self, agent: str, prompt: str, description: str) -> dict[str, Any]:
        """Run one and return `{"result": str, "tool_summary": [...]}`."""
        ...


@runtime_checkable
class CallAgentRunner(AgentRunner, Protocol):
    """An `AgentRunner` that is told which call a sub-agent works for."""

    async def run_for(self, call_id: str, agent: str, prompt: str, description: str) -> dict[str, Any]:
        """The same as `run`."""
        ...


@runtime_checkable
class ResumableAgentRunner(CallAgentRunner, Protocol):
    """An `AgentRunner` whose sub-agents have ids: they can be resumed, run in the background, and asked for a state.

    The answers of `run_for`, `resume_for` and `state_of` MAY have a `task_id`; that of `state_of` has `running` while
    the sub-agent runs. A task of another session MUST be treated as unknown.
    """

    async def resume_for(self, call_id: str, task_id: str, prompt: str) -> dict[str, Any]:
        """Give a sub-agent that has ended another message, and return what `run` returns."""
        ...

    async def start_for(
        self, call_id: str, agent: str, prompt: str, description: str, task_id: str = ""
    ) -> dict[str, Any]:
        """Start one, or resume `task_id`, and return `{"task_id": str, "running": True}` at once."""
        ...

    async def state_of(self, task_id: str) -> dict[str, Any]:
        """The state of a sub-agent, or its answer."""
        ...


@runtime_checkable
class Clock(Protocol):
    """The source of time, which tests can replace."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        ...

    def time(self) -> float:
        """Seconds since the epoch."""
        ...


class LoggedEvent(Protocol):
    """One entry of a session's log."""

    @property
    def seq(self) -> int:
        """1, 2, 3, … without gaps."""
        ...

    @property
    def turn_id(self) -> str | None:
        """The turn that it belongs to."""
        ...

    @property
    def kind(self) -> str:
        """What happened."""
        ...

    @property
    def payload(self) -> Mapping[str, Any]:
        """The details of the event."""
        ...

    @property
    def created_at(self) -> float:
        """When it was stored, in seconds since the epoch."""
        ...


class LiveListener(Protocol):
    """Receives what is not in the log yet. Its methods MUST return at once and MUST NOT raise."""

    def text(self, base: int, offset: int, text: str) -> None:
        """A piece of the message that comes after event `base`, from its character `offset` on."""
        ...

    def output(self, call_id: str, stream: str, text: str, left_out: int = 0) -> None:
        """What a command prints; `left_out` characters before it are missing."""
        ...

    def failed(self, position: int, message: str) -> None:
        """The turn has failed after event `position`, and its end cannot be stored yet."""
        ...


@runtime_checkable
class EventFeed(Protocol):
    """What happens in sessions: the log, and live events that are not in the log yet.

    The log is complete. Live events MAY be missing, for listeners that join late or watch from another process. They
    MUST NOT contain anything that will not be in the log.
    """

    async def events(self, session_id: str, after_seq: int = 0, *, limit: int = 1000) -> Sequence[LoggedEvent]:
        """The log from after a number on, at most `limit` events."""
        ...

    def follow(self, session_id: str, after_seq: int = 0) -> AsyncGenerator[LoggedEvent, None]:
        """The log from after a number on and everything that is added, by whatever process, without end."""
        ...

    def listen(self, session_id: str, listener: LiveListener) -> None:
        """Send live events to the listener from now on, beginning with the message that is being written."""
        ...

    def so_far(self, session_id: str) -> tuple[int, str]:
        """The event that precedes the message that is being written, and its text so far; empty if there is none."""
        ...

    def failure(self, session_id: str) -> str:
        """Why the last turn of a session failed, if its end is not in the log yet; else empty."""
        ...

    def leave(self, session_id: str, listener: LiveListener) -> None:
        """Stop sending live events to the listener."""
        ...


@runtime_checkable
class TurnRunner(Protocol):
    """Runs the turns of sessions, here or elsewhere."""

    async def submit(
        self,
        session_id: str,
        content: str | None,
        *,
        request_id: str,
        rewind_to: int | None = None,
        images: Sequence[StoredImage] = (),
    ) -> object:
        """Begin a turn. MUST have stored its beginning, with the request id, when it returns.

        A turn without content has no message: the model summarises the session. With `rewind_to`, the message takes
        the place of the person's message with that number, in one transaction. `images` are the pictures of the
        message, which the session has stored.

        MUST raise `SessionBusy` if a turn of the session runs already, and begin no second turn for a request id that
        has begun one (`RequestRepeated`). What happens after that is in the log; the return value is not used.
        """
        ...

    async def cancel(self, session_id: str) -> bool:
        """Ask the turn that runs in a session to end, in any process; whether there was one."""
        ...

    async def drain(self, seconds: float) -> int:
        """Wait at most so many seconds for the turns that end with this process; return how many still run."""
        ...


@runtime_checkable
class WorkspaceProvider(Protocol):
    """The files of sessions that move between machines: one directory per session, on the disk of its worker."""

    async def restore(self, lease: Any) -> str:
        """The directory of the lease's session, with the files that the last `save` stored.

        MUST raise `WorkspaceError`, which says what to do, if the files are not available. MUST NOT overwrite anything
        then.
        """
        ...

    async def save(self, session_id: str) -> None:
        """Store the files of a session, so that any worker can restore them.

        MUST raise `SessionFenced` if the session was taken over since, and MUST NOT store anything then.
        """
        ...

    async def release(self, lease: Any, *, ended: bool) -> None:
        """No turn runs in the directory any longer."""
        ...


class BlobStore(Protocol):
    """Stores full outputs that are too long for a message."""

    async def pieces(self, session_id: str, reference: str) -> AsyncIterator[bytes]:
        """The full output that a result of this session refers to, in pieces.

        MUST raise `OutputMissing`, which says why, if it is not available. An iterator that cannot continue MUST raise;
        it MUST NOT end early.
        """
        ...
