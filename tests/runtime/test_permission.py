"""The permission gate: who is asked, about what, and what an answer is good for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.kit import PathParams, ProbeTool, call, code_of, run, toolset_of
from toolgate import Approval, ApprovalRequest, Plan, ToolContext, Workspace, builtin_registry
from toolgate.testing import AutoApprover, MemoryRecorder


class Answers:
    """Answers as it is told, or raises."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> Any:
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def asks(**attributes: Any) -> ProbeTool:
    return ProbeTool(requires_permission=True, Params=PathParams, **attributes)


async def test_nobody_to_ask_means_no() -> None:
    tool = asks()
    result = await run(tool, {"path": "a"})
    assert (code_of(result), result.extras["failureCategory"], tool.calls) == ("APPROVAL_DENIED", "denied", [])
    assert "nobody can be asked" in result.message


async def test_yes_runs_once() -> None:
    tool, approver = asks(), AutoApprover()
    assert code_of(await run(tool, {"path": "a"}, approver=approver)) is None
    assert (len(tool.calls), len(approver.requests)) == (1, 1)


async def test_no_does_not_run_and_the_words_reach_the_model() -> None:
    tool = asks()
    result = await run(tool, {"path": "a"}, approver=AutoApprover(allow=False, message="use the other file"))
    assert (code_of(result), tool.calls) == ("APPROVAL_DENIED", [])
    assert "use the other file" in result.output


async def test_the_words_of_a_no_are_left_as_they_are() -> None:
    result = await run(asks(), {"path": "a"}, approver=AutoApprover(allow=False, message="look at ../other first."))
    assert result.message == "This call was not approved: look at ../other first."


async def test_a_tool_that_needs_no_permission_asks_nobody() -> None:
    approver = AutoApprover(allow=False)
    assert code_of(await run(ProbeTool(), approver=approver)) is None
    assert approver.requests == []


async def test_bad_input_asks_nobody() -> None:
    approver = AutoApprover()
    assert code_of(await run(asks(), "{", approver=approver)) == "INVALID_PARAM"
    assert code_of(await run(asks(), {"path": 1}, approver=approver)) == "INVALID_PARAM"
    assert approver.requests == []


@pytest.mark.parametrize("answer", [True, None, 1, "yes", {"allowed": True}, Approval, object()])
async def test_anything_but_an_approval_is_no(answer: Any) -> None:
    tool = asks()
    assert code_of(await run(tool, {"path": "a"}, approver=Answers(answer))) == "APPROVAL_DENIED"
    assert tool.calls == []


@pytest.mark.parametrize(
    "error", [ValueError("x"), TimeoutError(), SystemExit(1), KeyboardInterrupt(), BaseException("x"), MemoryError()]
)
async def test_whatever_an_approver_raises_is_no(error: BaseException) -> None:
    tool = asks()
    assert code_of(await run(tool, {"path": "a"}, approver=Answers(error))) == "APPROVAL_DENIED"
    assert tool.calls == []


async def test_an_approver_that_is_not_asynchronous_is_no() -> None:
    class Sync:
        def decide(self, request: ApprovalRequest) -> Approval:
            return Approval(allowed=True)

    tool = asks()
    assert code_of(await run(tool, {"path": "a"}, approver=Sync())) == "APPROVAL_DENIED"
    assert tool.calls == []


async def test_approvers_that_fail_do_not_open_the_breaker() -> None:
    toolset = toolset_of(asks(), approver=Answers(SystemExit()))
    codes = [code_of(await toolset.handle(call(arguments={"path": "a"}))) for _ in range(5)]
    assert codes == ["APPROVAL_DENIED"] * 5


async def test_a_tool_that_does_not_plan_is_shown_by_its_arguments() -> None:
    approver = AutoApprover()
    await run(asks(), {"path": "a\x1bb"}, approver=approver)
    (request,) = approver.requests
    assert request.summary == "Run probe"
    assert '"path": "a\\u001bb"' in request.detail


async def test_the_fingerprint_covers_tool_and_arguments() -> None:
    approver = AutoApprover()
    toolset = toolset_of(asks(), asks(name="other"), approver=approver)
    for name, path in (("probe", "a"), ("probe", "b"), ("other", "a"), ("probe", "a")):
        await toolset.handle(call(name, {"path": path}))
    prints = [request.fingerprint for request in approver.requests]
    assert len(set(prints)) == 3
    assert prints[0] == prints[3]
    assert len({request.id for request in approver.requests}) == 4


@pytest.mark.parametrize(
    "other",
    [
        Plan(summary="s2"),
        Plan(summary="s", detail="d"),
        Plan(summary="s", access="read"),
        Plan(summary="s", resources=("a",)),
        Plan(summary="s", commands=(("rm",),)),
    ],
)
def test_the_fingerprint_covers_everything_that_was_planned(other: Plan) -> None:
    assert Plan(summary="s").fingerprint("t", {}) != other.fingerprint("t", {})


def test_the_fingerprint_does_not_depend_on_the_order_of_keys_or_on_the_payload() -> None:
    one = Plan(summary="s", payload=object()).fingerprint("t", {"a": 1, "b": 2})
    assert one == Plan(summary="s").fingerprint("t", {"b": 2, "a": 1})


@pytest.mark.parametrize("shown", ["ls", "ls\n" * 20_000], ids=["short", "long"])
async def test_arguments_that_change_while_a_person_thinks_are_not_approved(shown: str) -> None:
    class Changes(ProbeTool):
        requires_permission = True

        async def prepare(self, params: Any, context: ToolContext) -> Plan:
            self.plan = Plan(summary="harmless", detail=shown)
            return self.plan

    tool = Changes()

    class Swaps:
        async def decide(self, request: ApprovalRequest) -> Approval:
            object.__setattr__(tool.plan, "detail", shown + "rm -rf .")
            return Approval(allowed=True)

    assert code_of(await run(tool, approver=Swaps())) == "APPROVAL_DENIED"
    assert tool.calls == []


async def test_remember_spares_the_same_call_and_no_other() -> None:
    approver = AutoApprover(remember=True)
    toolset = toolset_of(asks(), asks(name="other"), approver=approver)
    for name, path in (("probe", "a"), ("probe", "a"), ("probe", "b"), ("other", "a")):
        assert code_of(await toolset.handle(call(name, {"path": path}))) is None
    assert [(request.tool_name, request.detail.count('"a"')) for request in approver.requests] == [
        ("probe", 1),
        ("probe", 0),
        ("other", 1),
    ]


async def test_without_remember_every_call_asks() -> None:
    approver = AutoApprover()
    toolset = toolset_of(asks(), approver=approver)
    for _ in range(3):
        await toolset.handle(call(arguments={"path": "a"}))
    assert len(approver.requests) == 3


async def test_a_no_is_not_remembered() -> None:
    approver = Answers(Approval(allowed=False, remember=True))
    toolset = toolset_of(asks(), approver=approver)
    await toolset.handle(call(arguments={"path": "a"}))
    approver.answer = Approval(allowed=True)
    assert code_of(await toolset.handle(call(arguments={"path": "a"}))) is None
    assert len(approver.requests) == 2


async def test_another_session_remembers_nothing_of_it() -> None:
    tool = asks()
    await run(tool, {"path": "a"}, approver=AutoApprover(remember=True))
    assert code_of(await run(tool, {"path": "a"})) == "APPROVAL_DENIED"


async def test_full_access_is_asked_about_every_time() -> None:
    class Full(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Plan:
            return Plan(summary="s", access="full")

    approver = AutoApprover(remember=True)
    toolset = toolset_of(Full(), approver=approver)
    await toolset.handle(call())
    await toolset.handle(call())
    assert len(approver.requests) == 2


async def test_a_plan_may_ask_although_the_tool_does_not() -> None:
    class Careful(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Plan:
            return Plan(summary="s", asks=True, reason="it is dangerous")

    tool = Careful()
    assert code_of(await run(tool)) == "APPROVAL_DENIED"
    decision = await toolset_of(tool).explain(call())
    assert (decision.decision, decision.reason) == ("ask", "it is dangerous")


async def test_a_dry_run_asks_nobody(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    approver = AutoApprover(allow=False)
    tool = builtin_registry().get("write_file")
    assert tool is not None
    result = await run(tool, {"path": "a", "content": "x", "dry_run": True}, approver=approver, workspace=workspace)
    workspace.close()
    assert (result.response.status, result.response.data["applied"]) == ("partial", False)
    assert approver.requests == []


async def test_two_questions_at_once_do_not_mix_their_answers() -> None:
    class ByPath:
        async def decide(self, request: ApprovalRequest) -> Approval:
            await asyncio.sleep(0.01 if "slow" in request.detail else 0)
            return Approval(allowed="slow" in request.detail)

    toolset = toolset_of(asks(read_only=True), approver=ByPath())
    results = await asyncio.gather(
        *(toolset.handle(call(arguments={"path": path}, id=path)) for path in ("slow", "quick"))
    )
    assert [(r.tool_call_id, code_of(r)) for r in results] == [("slow", None), ("quick", "APPROVAL_DENIED")]


async def test_the_agents_name_and_the_session_are_on_the_question() -> None:
    approver = AutoApprover()
    toolset = toolset_of(asks(), approver=approver, session_id="s9")
    toolset.context.agent = "explore"
    await toolset.handle(call(arguments={"path": "a"}))
    assert (approver.requests[0].agent, approver.requests[0].session_id) == ("explore", "s9")


async def test_a_denial_is_one_decision_in_the_record() -> None:
    recorder = MemoryRecorder()
    await run(asks(), {"path": "a"}, recorder=recorder, approver=AutoApprover(allow=False, message="no"))
    assert [record.payload for record in recorder.records if record.kind == "decision"] == [
        {"decision": "deny", "gate": "permission", "rule": "", "reason": "no"}
    ]


class DryParams(BaseModel):
    dry_run: bool = False


@pytest.mark.parametrize("plan", [Plan(summary="s", access="full"), Plan(summary="s", asks=True)], ids=["full", "asks"])
async def test_a_dry_run_asks_nobody_whatever_its_plan(plan: Plan) -> None:
    class Far(ProbeTool):
        Params = DryParams
        requires_permission = True

        async def prepare(self, params: Any, context: ToolContext) -> Plan:
            return plan

    approver = AutoApprover(allow=False)
    assert code_of(await run(Far(), {"dry_run": True}, approver=approver)) is None
    assert approver.requests == []
    assert code_of(await run(Far(), {"dry_run": False}, approver=approver)) == "APPROVAL_DENIED"
    assert len(approver.requests) == 1
