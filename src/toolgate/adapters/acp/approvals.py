"""Approvals through the editor: a permission request with exactly what will happen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp.exceptions import RequestError
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from toolgate.adapters.acp.content import diff_content, text_content
from toolgate.adapters.acp.updates import KINDS
from toolgate.log import logger
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.text.visible import collapse_runs, visible

if TYPE_CHECKING:
    from acp.interfaces import Client

ALLOW_ONCE, ALLOW_SESSION, REJECT = "allow_once", "allow_session", "reject"
ANSWER = "answer_"
"""Prefix of the id of a question's option; the option's number follows."""
_NO_FIELD = "the editor has no field for an answer; give options, or end your turn with the question"


class EditorApprover:
    """Asks the person at the editor. `top_session` finds the session that the editor knows, not a sub-agent's own."""

    def __init__(self, client: Callable[[], Client], root: Path, top_session: Callable[[str], Awaitable[str]]) -> None:
        self._client = client
        self._root = root
        self._top_session = top_session
        self._unasked: set[str] = set()
        """Calls that the editor could not ask about."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Show the request and wait for the answer. Only an option that allows the call allows it."""
        question = request.question
        if question is not None and not question.options:
            return Approval(allowed=False, message=_NO_FIELD)
        session_id = await self._top_session(request.session_id or "")
        try:
            answer = await self._client().request_permission(
                session_id=session_id, tool_call=tool_call_update(self._root, request), options=options(request)
            )
        except (RequestError, ConnectionError) as error:
            logger("acp").warning("permission_not_asked", error=type(error).__name__)
            self._unasked.add(request.call_id)
            return Approval(allowed=False, message="the editor could not ask")
        chosen = answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else None
        if question is not None:
            answers = {f"{ANSWER}{number}": option for number, option in enumerate(question.options)}
            text = answers.get(chosen or "", "")
            return Approval(allowed=bool(text), text=text, message="" if text else "the user declined to answer")
        if chosen == ALLOW_ONCE or (chosen == ALLOW_SESSION and request.rule):
            return Approval(allowed=True, remember=chosen == ALLOW_SESSION)
        return Approval(allowed=False, message="the user denied it" if chosen == REJECT else "the question was closed")

    def advise(self, request: ApprovalRequest, rules: Callable[[], str | None]) -> bool:
        """Name the rule that would allow the call if the editor could not ask."""
        if request.call_id not in self._unasked:
            return False
        self._unasked.discard(request.call_id)
        return True


def options(request: ApprovalRequest) -> list[PermissionOption]:
    """Return the answers that the editor offers."""
    if request.question is not None:
        names = [visible(option, keep="") for option in request.question.options]
        answers = [
            PermissionOption(option_id=f"{ANSWER}{number}", name=name, kind="allow_once")
            for number, name in enumerate(names)
        ]
        return [*answers, PermissionOption(option_id=REJECT, name="Do not answer", kind="reject_once")]
    found = [PermissionOption(option_id=ALLOW_ONCE, name="Allow once", kind="allow_once")]
    if request.rule:
        name = "Allow exactly this call for this session"
        found.append(PermissionOption(option_id=ALLOW_SESSION, name=name, kind="allow_always"))
    return [*found, PermissionOption(option_id=REJECT, name="Deny", kind="reject_once")]


def tool_call_update(root: Path, request: ApprovalRequest) -> ToolCallUpdate:
    """Return the call as the person sees it before it runs: rendered from the plan, with nothing hidden."""
    who = f"{visible(request.agent, keep='')}: " if request.agent else ""
    detail = request.detail.rstrip("\n")
    content: list[Any] = []
    if request.reason:
        content.append(text_content(visible(request.reason, keep="")))
    is_diff = KINDS.get(request.tool_name) == "edit" and detail.startswith(("--- ", "diff "))
    content += diff_content(root, request.detail) if is_diff else [text_content(collapse_runs(visible(detail)))]
    return ToolCallUpdate(
        tool_call_id=request.call_id,
        title=who + visible(request.summary, keep=""),
        kind=KINDS.get(request.tool_name, "other"),
        status="pending",
        content=content,
    )
