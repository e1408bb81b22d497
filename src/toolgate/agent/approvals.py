"""Asking a person in a turn: the question and its answer are in the store before they are shown or count."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from toolgate.agent.events import AgentEvent, ApprovalRequested, ApprovalResolved
from toolgate.log import logger
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.ports import Approver, Unattended
from toolgate.sessions import Lease, SessionStore


class TurnApprover:
    """The approver of a turn and of the sub-agents that it starts: all questions rise to the same person."""

    def __init__(
        self,
        approver: Approver,
        sessions: SessionStore,
        lease: Lease,
        turn_id: str,
        emit: Callable[[AgentEvent], None],
        timeout: float | None,
    ) -> None:
        self._approver = approver
        self._sessions = sessions
        self._lease = lease
        self._turn_id = turn_id
        self._emit = emit
        self._timeout = timeout

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Write the question down, show it, wait, and let the first answer count."""
        deadline = None if self._timeout is None else time.time() + self._timeout
        request = request.model_copy(update={"session_id": self._lease.session_id, "deadline": deadline})
        await self._sessions.ask(self._lease, request, turn_id=self._turn_id)
        self._emit(ApprovalRequested(request=request))
        try:
            answer = await self._answer(request)
        except asyncio.CancelledError:
            await self._resolved(request, Approval(allowed=False, message="withdrawn: the call was cancelled"))
            raise
        return await self._resolved(request, answer)

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> None:
        """Tell the one behind, if nobody is behind that one."""
        if isinstance(self._approver, Unattended):
            self._approver.advise(request, rules)

    async def _answer(self, request: ApprovalRequest) -> Approval:
        try:
            async with asyncio.timeout(self._timeout):
                answer: object = await self._approver.decide(request)
        except TimeoutError:
            return Approval(allowed=False, message="nobody answered in time")
        except Exception as error:  # noqa: BLE001 - a question that breaks is answered with no
            logger("agent").error("approver_failed", error=type(error).__name__)
            return Approval(allowed=False, message="the question could not be asked")
        if not isinstance(answer, Approval):
            logger("agent").error("approver_failed", error=f"answered with {type(answer).__name__}")
            return Approval(allowed=False, message="the question was not answered")
        return answer

    async def _resolved(self, request: ApprovalRequest, answer: Approval) -> Approval:
        if not await self._sessions.decide(request.id, answer):
            answer = await self._stored(request.id)
        self._emit(ApprovalResolved(request_id=request.id, allowed=answer.allowed, message=answer.message))
        return answer

    async def _stored(self, request_id: str) -> Approval:
        """What was answered before us; anything but a clear yes is no."""
        row = await self._sessions.approval(request_id)
        if row is None:
            return Approval(allowed=False, message="the question was withdrawn")
        return Approval(allowed=row.state == "allowed", message=row.message, remember=row.remember)
