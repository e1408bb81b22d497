"""Calls that wait for an approval in the client's next request (protocol 2026-07-28 and later).

In that protocol the server cannot ask during a call. It responds with the question and a state. The client repeats
the call with the answer and the state. The call itself continues: it is planned and recorded once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolgate.adapters.mcp_server.approvals import approval_of, form, form_message, is_dismissed
from toolgate.adapters.mcp_server.live_output import LiveOutput
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolResult

APPROVAL_KEY = "approval"
"""The key of the approval among the input requests."""
MAX_PENDING = 64
"""Maximum number of waiting calls. If there is one more, the oldest is denied."""
DEFAULT_TIMEOUT = 600.0
"""Default seconds that a call waits for its approval."""


class PendingApproval:
    """The approver of one call. Others can see its request and answer it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.asked: asyncio.Future[ApprovalRequest] = loop.create_future()
        """The approval request, once there is one."""
        self._answer: asyncio.Future[Approval] = loop.create_future()

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Name the rule that would allow the call if the form was declined or closed."""
        return self._answer.done() and is_dismissed(self._answer.result())

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Wait for the answer."""
        self.asked.set_result(request)
        return await self._answer

    @property
    def is_answered(self) -> bool:
        """Whether the approval was answered."""
        return self._answer.done()

    def answer(self, approval: Approval) -> None:
        """Answer the request; only the first answer counts."""
        if not self._answer.done():
            self._answer.set_result(approval)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """A running call, with the values that must be equal when it is repeated."""

    name: str
    arguments: str
    approval: PendingApproval | None
    live: LiveOutput
    task: asyncio.Task[ToolResult]


class PendingCalls:
    """The waiting calls by state: an unguessable token that works once."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds or DEFAULT_TIMEOUT
        self._calls: dict[str, RunningCall] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def suspend(self, call: RunningCall) -> dict[str, Any]:
        """Store the call and return the response that asks for approval."""
        assert call.approval is not None
        request = call.approval.asked.result()
        state = secrets.token_urlsafe(24)
        self._calls[state] = call
        self._timers[state] = asyncio.get_running_loop().call_later(self._seconds, self._expire, state)
        if len(self._calls) > MAX_PENDING:
            self._expire(next(iter(self._calls)))
        params = types.ElicitRequestFormParams(message=form_message(request), requested_schema=form(request))
        asks = types.ElicitRequest(params=params).model_dump(by_alias=True, mode="json", exclude_none=True)
        return {"resultType": "input_required", "inputRequests": {APPROVAL_KEY: asks}, "requestState": state}

    def resume(self, params: types.CallToolRequestParams, arguments: str) -> RunningCall:
        """Return the call that this request repeats, and answer its approval if the answer is included."""
        state = params.request_state or ""
        call = self._calls.get(state)
        if call is None or (call.name, call.arguments) != (params.name, arguments):
            raise MCPError(
                code=types.INVALID_PARAMS,
                message="requestState does not belong to a waiting call: call again without it.",
            )
        del self._calls[state]
        self._timers.pop(state).cancel()
        given = (params.input_responses or {}).get(APPROVAL_KEY)
        if call.approval is not None and isinstance(given, types.ElicitResult):
            call.approval.answer(approval_of(given, call.approval.asked.result()))
        return call

    def close(self) -> None:
        """Deny all waiting calls."""
        for state in list(self._calls):
            self._expire(state)

    def _expire(self, state: str) -> None:
        self._timers.pop(state).cancel()
        approval = self._calls.pop(state).approval
        assert approval is not None
        approval.answer(Approval(allowed=False, message="nobody answered in time"))
