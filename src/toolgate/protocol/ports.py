"""What lower rooms need from the outside, as Protocols. Only `compose.py` knows the implementations."""

from typing import Any, Protocol, runtime_checkable

from toolgate.protocol.approval import Approval, ApprovalRequest
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
class Recorder(Protocol):
    """Keeps what happened.

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
    """The session's list of work. `replace` MUST store the whole list or nothing."""

    async def replace(self, items: list[dict[str, str]]) -> None:
        """Replace the list."""
        ...

    async def items(self) -> list[dict[str, str]]:
        """The list as it is."""
        ...


@runtime_checkable
class AgentRunner(Protocol):
    """Runs sub-agents. `run` MUST confine the child to tools that its parent has."""

    async def run(self, agent: str, prompt: str, description: str) -> dict[str, Any]:
        """Run one and return `{"result": str, "tool_summary": [...]}`."""
        ...


@runtime_checkable
class Clock(Protocol):
    """Time, so that tests can hold it."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        ...

    def time(self) -> float:
        """Seconds since the epoch."""
        ...
