"""`propose_plan`: ends plan mode with a plan that a person accepts, edits or refuses."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text

_MAX_CHARACTERS = 100_000


class ProposePlanParams(BaseModel):
    """The plan."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    plan: str = Field(min_length=1, max_length=_MAX_CHARACTERS, description="The whole plan, in Markdown.")


class ProposePlanTool(Tool[ProposePlanParams]):
    """Asks the person about a plan. It changes nothing itself; the person's answer switches the approval mode."""

    name = "propose_plan"
    description = load_text(__file__)
    Params = ProposePlanParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    approval_modes = frozenset({ApprovalMode.plan})
    requires_permission = True

    async def prepare(self, params: ProposePlanParams, context: ToolContext) -> Plan:
        """The plan is what the person is shown."""
        if not params.plan.strip():
            raise ToolError(ErrorCode.INVALID_PARAM, "The plan is blank.", "Write what you would change, step by step.")
        return Plan(summary="Accept this plan", detail=params.plan, access="read", once="every plan is another one")

    async def execute(self, params: ProposePlanParams, context: ToolContext) -> ToolResponse:
        """Tell the model what the person decided."""
        answer = context.approval
        if answer is None:
            text = "The plan was noted. Nobody was asked about it, so the session stays in plan mode."
            return ToolResponse.success({"accepted": False}, text)
        mode = answer.approval_mode or ApprovalMode.ask
        edited = bool(answer.text.strip()) and answer.text.strip() != params.plan.strip()
        data: dict[str, object] = {"accepted": True, "approval_mode": mode.value, "edited": edited}
        text = "The user accepted the plan. The session is no longer in plan mode: carry the plan out now."
        if edited:
            data["plan"] = answer.text
            text = f"{text} The user has edited it; follow the version in 'plan'."
        return ToolResponse.success(data, text)
