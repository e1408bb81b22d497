"""Approvals through MCP elicitation: the client shows a form with exactly what will happen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.text.visible import collapse_runs, visible

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

_REMEMBER: dict[str, Any] = {
    "type": "boolean",
    "title": "Also allow exactly this call again, in this session",
    "default": False,
}


def can_ask(session: ServerSession) -> bool:
    """Whether the client can show forms to a person."""
    offered = session.client_capabilities.elicitation if session.client_capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


def form(request: ApprovalRequest) -> dict[str, Any]:
    """Return the schema of the form. Accepting it allows the call; declining or closing it does not.

    Remembering is offered only if the same call will do the same again.
    """
    return {"type": "object", "properties": {"remember": _REMEMBER} if request.rule else {}}


def question(request: ApprovalRequest) -> str:
    """Return the text that the person reads: rendered from the plan, with nothing hidden."""
    head = f"{visible(request.tool_name, keep='')} asks: {visible(request.summary, keep='')}"
    detail = collapse_runs(visible(request.detail.rstrip("\n")))
    return f"{head}\n\n{detail}" if detail else head


def approval_of(result: types.ElicitResult) -> Approval:
    """Read the form's result. Only accepting it allows the call."""
    if result.action != "accept":
        said = "the user declined" if result.action == "decline" else "the user closed the question"
        return Approval(allowed=False, message=said)
    return Approval(allowed=True, remember=(result.content or {}).get("remember") is True)


class Elicitation:
    """Asks the client while the call runs, for clients that started with `initialize`."""

    def __init__(self, ctx: ServerRequestContext[Any, Any], seconds: float | None) -> None:
        self._ctx = ctx
        self._seconds = seconds

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Send the form and wait for the answer."""
        asked = self._ctx.session.elicit_form(question(request), form(request), self._ctx.request_id)
        try:
            return approval_of(await asyncio.wait_for(asked, self._seconds))
        except TimeoutError:
            return Approval(allowed=False, message="nobody answered in time")
