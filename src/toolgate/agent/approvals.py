"""Approval requests of a turn. A request is stored before it is shown, and an answer before it takes effect."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from toolgate.agent.events import AgentEvent, ApprovalRequested, ApprovalResolved
from toolgate.agent.prompt import PLAN_TOOL
from toolgate.errors import ChoiceNotOffered, SessionBusy, StoreError, ToolgateError
from toolgate.log import logger
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.modes import ApprovalMode
from toolgate.protocol.ports import Approver, Unattended
from toolgate.sessions import ApprovalRow, AskedApproval, Lease, SessionStore

T = TypeVar("T")

_RETRY_SECONDS = 0.5
"""Pause before an unavailable database is tried again."""
_WITHDRAWN = "withdrawn: the call was cancelled"


class RemoteApprover:
    """The approver of a process without a person: clients answer through the store, with `SessionStore.decide`."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Deny: outside of a turn there is no stored request that a client could answer."""
        return Approval(allowed=False, message="nobody can be asked outside of a turn")


class DurableApprover:
    """The approver of a turn and of the sub-agents that it starts.

    The answer comes from `approver`, or through the store if there is none. The first stored answer counts.
    """

    def __init__(
        self,
        sessions: SessionStore,
        lease: Lease,
        turn_id: str,
        *,
        approver: Approver | None = None,
        emit: Callable[[AgentEvent], None] | None = None,
        timeout: float | None,
        asked_in: tuple[str, str] | None = None,
        resumable: bool = False,
        park_after: float | None = None,
        park: Callable[[], None] | None = None,
    ) -> None:
        """`asked_in` is the session and the turn that show the request; for a sub-agent these are its parent's.

        With `resumable` another process may continue the turn: the same call asks only once, and an unavailable
        database is waited for. After `park_after` seconds without an answer, `park` is called; the request stays open.
        """
        self._sessions = sessions
        self._lease = lease
        self._turn_id = turn_id
        self._approver = None if isinstance(approver, RemoteApprover) else approver
        self._emit = emit
        self._timeout = timeout
        self._asked_in = asked_in or (lease.session_id, turn_id)
        self._resumable = resumable
        self._park_after = park_after
        self._park = park
        self.parked = False
        """Whether the turn was parked. Cancelling it then does not answer the request."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Store the request, show it, and wait for the first answer."""
        asked = await self._available(lambda: self._ask(request))
        self._tell(ApprovalRequested(request=asked.request))
        request_id = asked.request.id
        try:
            if self._approver is not None:
                answer = await self._store(request_id, await self._answer_of(self._approver, asked.request))
            else:
                answer = await self._stored_answer(asked.row, asked.waited, asked.seq)
        except asyncio.CancelledError:
            if not self.parked:
                self._tell_answer(
                    request_id, await self._store(request_id, Approval(allowed=False, message=_WITHDRAWN))
                )
            raise
        self._tell_answer(request_id, answer)
        return answer

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Pass advice on to an unattended approver."""
        return isinstance(self._approver, Unattended) and self._approver.advise(request, rules)

    async def _ask(self, request: ApprovalRequest) -> AskedApproval:
        """Store the request. If the call is cancelled meanwhile, withdraw it, because clients may see it already.

        The request of a parked turn stays open: the resumed turn asks it again.
        """
        asking = asyncio.ensure_future(
            self._sessions.ask(
                self._lease,
                request,
                turn_id=self._turn_id,
                asked_in=self._asked_in,
                timeout=self._timeout,
                once=self._resumable,
            )
        )
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            with contextlib.suppress(ToolgateError):  # it was not stored, or it is withdrawn when the turn ends
                stored = await asking
                if not self.parked:
                    await self._store(stored.request.id, Approval(allowed=False, message=_WITHDRAWN))
            raise

    async def _answer_of(self, approver: Approver, request: ApprovalRequest) -> Approval:
        """The approver's answer; a failure and a wrong type are denials."""
        try:
            async with asyncio.timeout(self._timeout):
                answer: object = await approver.decide(request)
        except TimeoutError:
            return Approval(allowed=False, message="nobody answered in time")
        except Exception as error:  # noqa: BLE001 - an approver that fails has not allowed anything
            logger("agent").error("approver_failed", error=type(error).__name__)
            return Approval(allowed=False, message="the question could not be asked")
        if not isinstance(answer, Approval):
            logger("agent").error("approver_failed", error=f"answered with {type(answer).__name__}")
            return Approval(allowed=False, message="the question was not answered")
        if request.tool_name == PLAN_TOOL and answer.allowed and answer.approval_mode is None:
            return answer.model_copy(update={"approval_mode": ApprovalMode.ask})  # as the store switches it
        return answer

    async def _stored_answer(self, row: ApprovalRow, waited: float, after_seq: int) -> Approval:
        """Wait until the request is answered in the store, is overdue, or the turn is parked."""
        if row.state == "pending":
            left = None if self._timeout is None else self._timeout - waited
            try:
                async with asyncio.timeout(_shorter(left, self._park_after)) as limit:
                    await self._until_resolved(row.id, after_seq)
            except TimeoutError:
                if not limit.expired():
                    raise
                if self._park_after is not None and (left is None or self._park_after < left):
                    return await self._parked()
                return await self._store(row.id, Approval(allowed=False, message="nobody answered in time"))
            found = await self._available(lambda: self._sessions.approval_state(row.id))
            if found is None:
                return Approval(allowed=False, message="the question was withdrawn")
            row, waited = found
        if row.state == "allowed" and self._timeout is not None and waited >= self._timeout:
            return Approval(allowed=False, message="the answer came after its time")
        return _answer(row)

    async def _until_resolved(self, request_id: str, after_seq: int) -> None:
        async def follow() -> None:
            nonlocal after_seq
            async with contextlib.aclosing(self._sessions.follow(self._asked_in[0], after_seq)) as events:
                async for event in events:
                    if event.kind == "approval_resolved" and event.payload.get("id") == request_id:
                        return
                    after_seq = event.seq

        await self._available(follow)

    async def _parked(self) -> Approval:
        """Park the turn, and wait to be cancelled."""
        self.parked = True
        if self._park is not None:
            self._park()
        waiting: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        return await waiting

    async def _store(self, request_id: str, answer: Approval) -> Approval:
        """Store an answer and return the one that counts."""
        try:
            if await self._sessions.decide(request_id, answer):
                return answer
            row = await self._sessions.approval(request_id)
        except ChoiceNotOffered as error:  # an approver's mistake does not permit anything
            return await self._store(request_id, Approval(allowed=False, message=str(error)))
        except ToolgateError as error:
            if not self._resumable:
                raise
            logger("agent").warning("answer_not_stored", error=type(error).__name__)
            return answer
        return Approval(allowed=False, message="the question was withdrawn") if row is None else _answer(row)

    async def _available(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Run an operation that may be repeated. In a resumable turn, repeat it until the database is available."""
        while True:
            try:
                return await operation()
            except (StoreError, SessionBusy) as error:
                if not self._resumable:
                    raise
                logger("agent").info("database_waited_for", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)

    def _tell(self, event: AgentEvent) -> None:
        if self._emit is not None:
            self._emit(event)

    def _tell_answer(self, request_id: str, answer: Approval) -> None:
        self._tell(ApprovalResolved(request_id=request_id, allowed=answer.allowed, message=answer.message))


class AskAfterStoring:
    """The approver of one agent's calls: the model's message is durable before anybody is asked about its call."""

    def __init__(self, approver: Approver, store_message: Callable[[], Awaitable[None]]) -> None:
        self._approver = approver
        self._store_message = store_message

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Store the message, then ask. A failure is a denial, as with every approver."""
        await self._store_message()
        return await self._approver.decide(request)

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Pass advice on."""
        return isinstance(self._approver, Unattended) and self._approver.advise(request, rules)


def _answer(row: ApprovalRow) -> Approval:
    """A stored answer; anything but a clear yes is a no."""
    return Approval(
        allowed=row.state == "allowed",
        message=row.message,
        remember=row.remember,
        choice=row.choice if row.remember and row.choice != "call" else None,
        scope=row.scope,
        approval_mode=row.approval_mode,
        text=row.answer,
    )


def _shorter(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)
