"""`propose_plan`: the person accepts, edits or refuses, and only the person switches the approval mode."""

from pathlib import Path
from typing import Any

import pytest

from tests.kit import call, code_of
from toolgate import Approval, ApprovalMode, ApprovalRequest, ToolContext, ToolMode, ToolResult, Workspace
from toolgate.runtime.builtin import agent_registry


class Answers:
    def __init__(self, **answer: Any) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answer = Approval(**answer)

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return self._answer


async def proposed(root: Path, approver: Any, plan: str = "# Plan") -> ToolResult:
    context = ToolContext(
        workspace=Workspace(root), mode=ToolMode.coding, approver=approver, approval_mode=ApprovalMode.plan
    )
    return await agent_registry().toolset(ToolMode.coding, context).handle(call("propose_plan", {"plan": plan}))


async def test_the_person_sees_the_plan_and_nothing_can_be_remembered(tmp_path: Path) -> None:
    approver = Answers(allowed=True, approval_mode=ApprovalMode.accept_edits)
    result = await proposed(tmp_path, approver, "# Plan\n\n1. Rename it")
    (request,) = approver.requests
    assert (request.tool_name, request.detail, request.choices) == ("propose_plan", "# Plan\n\n1. Rename it", ())
    assert result.response.data == {"accepted": True, "approval_mode": "accept_edits", "edited": False}


async def test_an_edited_plan_reaches_the_model(tmp_path: Path) -> None:
    result = await proposed(tmp_path, Answers(allowed=True, text="# Another plan"))
    assert result.response.data["plan"] == "# Another plan"
    assert "# Another plan" in result.output


async def test_a_refusal_says_why(tmp_path: Path) -> None:
    result = await proposed(tmp_path, Answers(allowed=False, message="smaller steps"))
    assert (code_of(result), "smaller steps" in result.output) == ("APPROVAL_DENIED", True)


@pytest.mark.parametrize("plan", ["", "  \n"])
async def test_a_blank_plan_is_refused_before_anybody_is_asked(tmp_path: Path, plan: str) -> None:
    approver = Answers(allowed=True)
    assert code_of(await proposed(tmp_path, approver, plan)) == "INVALID_PARAM"
    assert approver.requests == []


async def test_it_is_there_in_plan_mode_only(tmp_path: Path) -> None:
    for mode in (ApprovalMode.ask, ApprovalMode.accept_edits):
        context = ToolContext(workspace=Workspace(tmp_path), mode=ToolMode.coding, approval_mode=mode)
        toolset = agent_registry().toolset(ToolMode.coding, context)
        assert "propose_plan" not in {tool.name for tool in toolset.tools}
        assert code_of(await toolset.handle(call("propose_plan", {"plan": "x"}))) == "MODE_DENIED"
