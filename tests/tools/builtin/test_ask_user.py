"""`ask_user`: only the person's own text is an answer, and nobody there is said at once."""

from pathlib import Path
from typing import Any

import pytest

from tests.kit import call, code_of
from toolgate import (
    Approval,
    ApprovalMode,
    ApprovalRequest,
    ToolContext,
    ToolMode,
    ToolResult,
    Workspace,
)
from toolgate.runtime.builtin import agent_registry
from toolgate.runtime.policy import Rule
from toolgate.runtime.policy_source import policy_of
from toolgate.runtime.state import runtime_state
from toolgate.testing import AutoApprover

QUESTION = {"question": "Which database?", "options": ["SQLite", "PostgreSQL"]}


class Answers:
    def __init__(self, **answer: Any) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answer = Approval(**answer)

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return self._answer


def context(root: Path, approver: Any, **more: Any) -> ToolContext:
    return ToolContext(workspace=Workspace(root), mode=ToolMode.coding, approver=approver, **more)


async def asked(own: ToolContext, **arguments: Any) -> ToolResult:
    return await agent_registry().toolset(own.mode, own).handle(call("ask_user", arguments or QUESTION))


@pytest.mark.parametrize("approval_mode", list(ApprovalMode))
async def test_the_answer_reaches_the_model_in_every_approval_mode(tmp_path: Path, approval_mode: ApprovalMode) -> None:
    approver = Answers(allowed=True, text="PostgreSQL")
    result = await asked(context(tmp_path, approver, approval_mode=approval_mode))
    assert (result.output, result.response.data) == ("The user answered: PostgreSQL", {"answer": "PostgreSQL"})
    (request,) = approver.requests
    assert request.question is not None
    assert (request.question.text, request.question.options) == ("Which database?", ("SQLite", "PostgreSQL"))
    assert (request.choices, request.rule, request.risk) == ((), "", "low")
    assert request.detail == "Which database?\n1. SQLite\n2. PostgreSQL"


async def test_nobody_there_is_an_answer_at_once(tmp_path: Path) -> None:
    result = await asked(context(tmp_path, None))
    assert code_of(result) == "APPROVAL_DENIED"
    assert "The question was not answered: nobody can be asked here." in result.message
    assert "say what you assumed" in result.output
    assert "[[rule]]" not in result.output


async def test_a_person_may_decline_and_say_why(tmp_path: Path) -> None:
    result = await asked(context(tmp_path, Answers(allowed=False, message="look into the README")))
    assert (code_of(result), "look into the README" in result.output) == ("APPROVAL_DENIED", True)


@pytest.mark.parametrize("answer", [{"allowed": True}, {"allowed": True, "text": " \n"}])
async def test_a_yes_without_a_text_is_no_answer(tmp_path: Path, answer: dict[str, Any]) -> None:
    result = await asked(context(tmp_path, Answers(**answer)))
    assert (code_of(result), "no answer was given" in result.message) == ("APPROVAL_DENIED", True)


async def test_no_rule_answers_for_the_person_and_a_rule_may_forbid_to_ask(tmp_path: Path) -> None:
    approver = Answers(allowed=True, text="yes")
    own = context(tmp_path, approver)
    runtime_state(own).policy = policy_of(own).with_rules([Rule(tool="ask_user", decision="allow")])
    assert (await asked(own)).response.data == {"answer": "yes"}
    runtime_state(own).policy = policy_of(own).with_rules([Rule(tool="ask_user", decision="deny")])
    assert code_of(await asked(own)) == "APPROVAL_DENIED"
    assert len(approver.requests) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": " "},
        {"question": "q", "options": [" "]},
        {"question": "q", "options": ["a", "a "]},
        {"question": "q", "options": [str(number) for number in range(10)]},
        {"question": "q" * 4001},
        {"question": "q", "options": ["x" * 201]},
        {},
    ],
)
async def test_a_bad_question_is_refused_before_anybody_is_asked(tmp_path: Path, arguments: dict[str, Any]) -> None:
    approver = AutoApprover()
    own = context(tmp_path, approver)
    result = await agent_registry().toolset(own.mode, own).handle(call("ask_user", arguments))
    assert (code_of(result), approver.requests) == ("INVALID_PARAM", [])


async def test_a09_nothing_in_a_question_can_hide(tmp_path: Path) -> None:
    approver = Answers(allowed=True, text="ok")
    await asked(context(tmp_path, approver), question="Go?\x1b[2J\u202e", options=["yes\u200b", "no"])
    (request,) = approver.requests
    assert request.question is not None
    assert request.question.text == "Go?\\x1b[2J\\u202e"
    assert request.question.options[0] == "yes\\u200b"
