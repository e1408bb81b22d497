"""Approvals through MCP elicitation: the client shows a form with exactly what will happen.

The form has one list of decisions, and `deny` is its default, so that no way of submitting it can be misread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types

from toolgate.protocol.approval import Approval, ApprovalRequest, Question
from toolgate.text.visible import collapse_runs, visible

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

ALLOW_ONCE = "allow once"
ALLOW_SESSION = "allow for this session"
ALWAYS = "always in this session: "
DENY = "deny"
_MAX_REASON = 1000
_MAX_ANSWER = 10_000
_DISMISSED = {"decline": "the user or the client declined", "cancel": "the question was closed without an answer"}


def can_ask(session: ServerSession) -> bool:
    """Whether the client can show forms to a person."""
    offered = session.client_capabilities.elicitation if session.client_capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


def form(request: ApprovalRequest) -> dict[str, Any]:
    """Return the schema of the form. What can be remembered for the session is a decision of its own."""
    if request.question is not None:
        return answer_form(request.question)
    choices = [f"{ALWAYS}{visible(choice.label, keep='')}" for choice in request.choices if choice.id != "call"]
    decisions = [ALLOW_ONCE, *([ALLOW_SESSION] if request.rule else []), *choices, DENY]
    return {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Decision", "enum": decisions, "default": DENY},
            "reason": {"type": "string", "title": "Reason, if denied: the model reads it", "maxLength": _MAX_REASON},
        },
        "required": ["decision"],
    }


def answer_form(asked: Question) -> dict[str, Any]:
    """Return the schema of the form for a question: its options, if it has any, and a text of the person's own."""
    options = [visible(option, keep="") for option in asked.options]
    answer = {"type": "string", "title": "Your own answer" if options else "Answer", "maxLength": _MAX_ANSWER}
    properties: dict[str, Any] = {"choice": {"type": "string", "title": "Answer", "enum": options}} if options else {}
    return {
        "type": "object",
        "properties": {**properties, "answer": answer},
        "required": [] if options else ["answer"],
    }


def answer_of(result: types.ElicitResult, asked: Question) -> Approval:
    """Read the answer to a question: the person's own text, else the option that was picked."""
    if result.action != "accept":
        return Approval(allowed=False, message=_DISMISSED.get(result.action, "the question was not answered"))
    content = result.content or {}
    own, picked = content.get("answer"), content.get("choice")
    if isinstance(own, str) and own.strip():
        return Approval(allowed=True, text=own.strip()[:_MAX_ANSWER])
    chosen = next((option for option in asked.options if visible(option, keep="") == picked), None)
    if chosen is None:
        return Approval(allowed=False, message="the form was sent without an answer")
    return Approval(allowed=True, text=chosen)


def form_message(request: ApprovalRequest) -> str:
    """Return the text that the person reads: rendered from the plan, with nothing hidden."""
    if request.question is not None:
        return collapse_runs(visible(request.question.text))
    head = f"{visible(request.tool_name, keep='')} asks: {visible(request.summary, keep='')}"
    detail = collapse_runs(visible(request.detail.rstrip("\n")))
    choices = [choice for choice in request.choices if choice.id != "call"]
    rules = [f"{visible(choice.label, keep='')}:\n{visible(choice.rule)}" for choice in choices]
    offered = ["Rules that can be remembered:", *rules] if rules else []
    return "\n\n".join([head, *([detail] if detail else []), *offered])


def approval_of(result: types.ElicitResult, request: ApprovalRequest) -> Approval:
    """Read the form's result. Only a decision that allows, and that the form offered, allows the call."""
    if request.question is not None:
        return answer_of(result, request.question)
    if result.action != "accept":
        return Approval(allowed=False, message=_DISMISSED.get(result.action, "the question was not answered"))
    content = result.content or {}
    decision, reason = content.get("decision"), content.get("reason")
    if decision == ALLOW_ONCE or (decision == ALLOW_SESSION and request.rule):
        return Approval(allowed=True, remember=decision == ALLOW_SESSION)
    for choice in request.choices:
        if choice.id != "call" and decision == f"{ALWAYS}{visible(choice.label, keep='')}":
            return Approval(allowed=True, remember=True, choice=choice.id)
    given = reason.strip()[:_MAX_REASON] if isinstance(reason, str) else ""
    return Approval(allowed=False, message=f"the user denied it: {given}" if given else "the user denied it")


def is_dismissed(approval: Approval) -> bool:
    """Whether the form was declined or closed: some clients do that without showing it."""
    return not approval.allowed and approval.message in _DISMISSED.values()


class ClientApprover:
    """Leaves approvals to a client that asks its own user before every call (`--approvals client`)."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Allow the call. A question has to reach a person, which the client was not asked to do."""
        if request.question is not None:
            return Approval(allowed=False, message="the client answers no questions of tools")
        return Approval(allowed=True, message="the client asks its own user")


class Elicitation:
    """Asks the client while the call runs, for clients that started with `initialize`."""

    def __init__(self, ctx: ServerRequestContext[Any, Any], seconds: float | None) -> None:
        self._ctx = ctx
        self._seconds = seconds
        self._is_dismissed = False

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Send the form and wait for the answer."""
        asked = self._ctx.session.elicit_form(form_message(request), form(request), self._ctx.request_id)
        try:
            approval = approval_of(await asyncio.wait_for(asked, self._seconds), request)
        except TimeoutError:
            return Approval(allowed=False, message="nobody answered in time")
        self._is_dismissed = is_dismissed(approval)
        return approval

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Name the rule that would allow the call if the form was declined or closed."""
        return self._is_dismissed
