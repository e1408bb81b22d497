"""Calls that wait for an answer which comes with the next request: the way of clients of 2026-07-28 and later.

Their server may not ask in the middle of a call. It answers with the question and a state, and the client repeats the
call with both the answer and the state. The call itself is the same all the time: planned once, recorded once.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolgate.adapters.mcp_server.approvals import approval_of, form, question
from toolgate.adapters.mcp_server.live import LiveOutput
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolResult

KEY = "approval"
"""The name of the question among the input requests."""
MOST = 64
"""Calls that wait at the same time; one more, and the oldest is answered with no."""
PATIENCE = 600.0
"""Seconds that a question waits where nothing else is set."""


class Question:
    """The approver of one call: its question can be looked at, and answered from outside."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.asked: asyncio.Future[ApprovalRequest] = loop.create_future()
        """What is asked, once it is."""
        self._answer: asyncio.Future[Approval] = loop.create_future()

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Wait for the answer."""
        self.asked.set_result(request)
        return await self._answer

    @property
    def is_answered(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self._answer.done()

    def answer(self, approval: Approval) -> None:
        """Answer; only the first answer counts."""
        if not self._answer.done():
            self._answer.set_result(approval)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A call on its way, and what must be the same when it is repeated."""

    name: str
    arguments: str
    question: Question | None
    live: LiveOutput
    task: asyncio.Task[ToolResult]


class Parking:
    """The calls that wait for an answer, by their state: a word that nobody can guess, and that works once."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds or PATIENCE
        self._parked: dict[str, Running] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def park(self, call: Running) -> dict[str, Any]:
        """The answer that asks."""
        assert call.question is not None
        request = call.question.asked.result()
        state = secrets.token_urlsafe(24)
        self._parked[state] = call
        self._timers[state] = asyncio.get_running_loop().call_later(self._seconds, self._expire, state)
        if len(self._parked) > MOST:
            self._expire(next(iter(self._parked)))
        params = types.ElicitRequestFormParams(message=question(request), requested_schema=form(request))
        asks = types.ElicitRequest(params=params).model_dump(by_alias=True, mode="json", exclude_none=True)
        return {"resultType": "input_required", "inputRequests": {KEY: asks}, "requestState": state}

    def resume(self, params: types.CallToolRequestParams, arguments: str) -> Running:
        """The call that this one repeats; it is answered, if the answer has come with it."""
        state = params.request_state or ""
        call = self._parked.get(state)
        if call is None or (call.name, call.arguments) != (params.name, arguments):
            raise MCPError(
                code=types.INVALID_PARAMS,
                message="requestState is not one of a call that waits for this answer: call again without it.",
            )
        del self._parked[state]
        self._timers.pop(state).cancel()
        given = (params.input_responses or {}).get(KEY)
        if call.question is not None and isinstance(given, types.ElicitResult):
            call.question.answer(approval_of(given))
        return call

    def close(self) -> None:
        """Answer everything with no."""
        for state in list(self._parked):
            self._expire(state)

    def _expire(self, state: str) -> None:
        self._timers.pop(state).cancel()
        question_ = self._parked.pop(state).question
        assert question_ is not None
        question_.answer(Approval(allowed=False, message="nobody answered in time"))
