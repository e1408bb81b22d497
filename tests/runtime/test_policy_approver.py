"""`PolicyApprover`: answers by rules, and passes the rest on."""

from pathlib import Path
from typing import Any

import pytest

import toolgate
from toolgate import Approval, ApprovalRequest, ApprovalRule, PolicyApprover
from toolgate.errors import DeclarationError
from toolgate.testing import AutoApprover


def request(tool: str = "write_file", risk: Any = "low", agent: str = "") -> ApprovalRequest:
    return ApprovalRequest(
        id="1", tool_name=tool, call_id="c", summary="s", detail="", fingerprint="f", risk=risk, agent=agent
    )


async def test_the_first_rule_that_fits_answers() -> None:
    approver = PolicyApprover(
        [ApprovalRule(decision="deny", tool="Bash", message="use a tool"), ApprovalRule(decision="allow")]
    )
    assert await approver.decide(request("Bash")) == Approval(allowed=False, message="use a tool")
    assert await approver.decide(request()) == Approval(allowed=True)


@pytest.mark.parametrize(("risk", "allowed"), [("low", True), ("medium", True), ("high", False)])
async def test_a_rule_is_about_its_risk_and_below(risk: str, allowed: bool) -> None:
    approver = PolicyApprover([ApprovalRule(decision="allow", max_risk="medium")])
    assert (await approver.decide(request(risk=risk))).allowed is allowed


@pytest.mark.parametrize(("tool", "allowed"), [("write_file", True), ("edit_file", True), ("Bash", False)])
async def test_a_pattern_stands_for_several_tools(tool: str, allowed: bool) -> None:
    approver = PolicyApprover([ApprovalRule(decision="allow", tool="*_file", max_risk="low")])
    assert (await approver.decide(request(tool))).allowed is allowed


@pytest.mark.parametrize(("agent", "allowed"), [("", True), ("reviewer", False)])
async def test_a_rule_may_be_about_the_main_agent_only(agent: str, allowed: bool) -> None:
    approver = PolicyApprover([ApprovalRule(decision="allow", agent="")])
    assert (await approver.decide(request(agent=agent))).allowed is allowed


async def test_what_no_rule_is_about_goes_to_the_next_approver() -> None:
    person = AutoApprover()
    approver = PolicyApprover([ApprovalRule(decision="ask", tool="Bash"), ApprovalRule(decision="deny")], person)
    assert (await approver.decide(request("Bash"))).allowed
    assert not (await approver.decide(request("ls"))).allowed
    assert [asked.tool_name for asked in person.requests] == ["Bash"]


async def test_without_a_next_approver_it_is_a_no() -> None:
    assert not (await PolicyApprover([]).decide(request())).allowed


async def test_the_model_is_told_which_rule_would_allow_what_nobody_saw(tmp_path: Path) -> None:
    rules = [ApprovalRule(decision="deny", tool="edit_file")]
    (tmp_path / "b.txt").write_text("b\n")
    async with toolgate.open(tmp_path, "coding", PolicyApprover(rules)) as toolset:
        unseen = await toolset.call("write_file", path="a.txt", content="a\n")
        denied = await toolset.call("edit_file", path="b.txt", old_string="b", new_string="c")
    assert "[[rule]]" in unseen.output
    assert "a rule of the program denies it" in denied.output
    assert "[[rule]]" not in denied.output


async def test_a_low_risk_is_allowed_and_a_high_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b\n")
    approver = PolicyApprover([ApprovalRule(decision="allow", max_risk="low")])
    async with toolgate.open(tmp_path, "coding", approver) as toolset:
        assert (await toolset.call("write_file", path="a.txt", content="a\n")).error_code is None
        assert (await toolset.call("Bash", command="rm b.txt")).error_code == "APPROVAL_DENIED"
    assert (tmp_path / "b.txt").exists()


@pytest.mark.parametrize("rule", [{"decision": "allow"}, "allow", None])
def test_what_is_no_rule_is_refused(rule: Any) -> None:
    with pytest.raises(TypeError, match=r"rule 1 is a .*ApprovalRule"):
        PolicyApprover([rule])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"decision": "maybe"}, "ApprovalRule: decision is 'maybe': write 'allow', 'ask' or 'deny'"),
        ({"decision": "allow", "tools": "x"}, "ApprovalRule: tools is unknown; did you mean tool?"),
        ({"tool": "x"}, "ApprovalRule: decision is missing"),
    ],
)
def test_a_misspelt_rule_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        ApprovalRule(**wrong)
    assert str(caught.value) == said
