"""`ask_user`: a question to the person, who answers with one of the options or with a text of their own."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.approval import ASK_TOOL, Question
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text

_MAX_SUMMARY = 200
_MAX_OPTIONS = 9

Option = Annotated[str, Field(min_length=1, max_length=200)]


class AskUserParams(BaseModel):
    """The question."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    question: str = Field(min_length=1, max_length=4000, description="One question, with what they need to decide.")
    options: list[Option] = Field(
        default_factory=list, max_length=_MAX_OPTIONS, description="Short answers to pick from, the best first."
    )


class AskUserTool(Tool[AskUserParams]):
    """Asks through the approval path: the question is stored, shown on every surface, and answered once."""

    name = ASK_TOOL
    description = load_text(__file__)
    Params = AskUserParams
    group = ToolGroup.world
    allowed_modes = frozenset(ToolMode)
    approval_modes = frozenset(ApprovalMode)
    requires_permission = True
    read_only = True
    deferred = True

    async def prepare(self, params: AskUserParams, context: ToolContext) -> Plan:
        """The question is what the person is shown."""
        options = [option.strip() for option in params.options]
        if not params.question.strip() or not all(options):
            raise ToolError(
                ErrorCode.INVALID_PARAM, "The question or an option is blank.", "Write what you want to know."
            )
        if len(set(options)) < len(options):
            raise ToolError(ErrorCode.INVALID_PARAM, "Two options are the same.", "Give every option once.")
        text = params.question.strip()
        summary = " ".join(text.split())
        return Plan(
            summary=summary if len(summary) <= _MAX_SUMMARY else f"{summary[: _MAX_SUMMARY - 1]}…",
            detail="\n".join([text, *(f"{number}. {option}" for number, option in enumerate(options, 1))]),
            access="read",
            once="every question is another one",
            question=Question(text=text, options=tuple(options)),
        )

    async def execute(self, params: AskUserParams, context: ToolContext) -> ToolResponse:
        """Tell the model what the person answered; the permission gate has refused a call without an answer."""
        answer = "" if context.approval is None else context.approval.text.strip()
        if not answer:
            raise ToolError(ErrorCode.APPROVAL_DENIED, "The question was not answered.", "Go on without an answer.")
        return ToolResponse.success({"answer": answer}, f"The user answered: {answer}")

    def render(self, response: ToolResponse) -> str:
        """The answer."""
        return response.text
