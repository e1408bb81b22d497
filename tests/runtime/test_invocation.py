"""The state of one call: what it knows before and after each gate."""

from time import perf_counter

import pytest

from tests.kit import ProbeTool
from toolgate import ErrorCode, ToolContext, ToolResponse
from toolgate.protocol.record import Decision
from toolgate.runtime.invocation import Invocation
from toolgate.runtime.resolved_tool import ResolvedTool
from toolgate.tools.declaration import declaration_of


def invocation(arguments: str = "{}") -> Invocation:
    return Invocation("c1", "probe", arguments, ToolContext(), perf_counter())


def test_nothing_is_decided_at_first() -> None:
    call = invocation()
    assert (call.resolved, call.params, call.verdict(), call.executed) == (None, None, None, False)


def test_a_refusal_is_the_verdict_even_if_the_policy_allowed_the_call() -> None:
    call = invocation()
    call.decision = Decision(decision="allow", gate="policy", rule="r", reason="allowed")
    response = call.refuse("mode", ToolResponse.failure(ErrorCode.MODE_DENIED, "not in this mode"))
    assert response.text == "not in this mode"
    assert call.verdict() == Decision(decision="deny", gate="mode", reason="not in this mode")


def test_a_refusal_in_words_is_complete_and_is_the_verdict() -> None:
    call = invocation('{"a": ')
    response = call.refuse_in_words("arguments", ErrorCode.INVALID_PARAM, "no JSON")
    assert response.context == {"cwd": ".", "params_input": '{"a": '}
    assert list(response.stats) == ["time_ms"]
    assert call.in_words
    assert call.verdict() == Decision(decision="deny", gate="arguments", reason="no JSON")


def test_words_are_not_all_of_a_refusal_if_the_tool_has_a_render_of_its_own() -> None:
    class Loud(ProbeTool):
        def render(self, response: ToolResponse) -> str:
            return response.text.upper()

    tool, call = Loud(), invocation()
    call.resolved = ResolvedTool(tool, declaration_of(tool))
    call.refuse_in_words("arguments", ErrorCode.INVALID_PARAM, "no JSON")
    assert not call.in_words


@pytest.mark.parametrize(
    ("code", "executed", "broken"),
    [
        (ErrorCode.INTERNAL_ERROR, False, True),
        (ErrorCode.INTERNAL_ERROR, True, True),
        (ErrorCode.NOT_FOUND, True, False),
        (ErrorCode.NOT_FOUND, False, None),
        (ErrorCode.CANCELLED, True, None),
        (None, True, False),
    ],
)
def test_only_a_tool_that_ran_shows_whether_it_is_broken(
    code: ErrorCode | None, executed: bool, broken: bool | None
) -> None:
    call = invocation()
    call.executed = executed
    response = ToolResponse.success({}, "done") if code is None else ToolResponse.failure(code, "no")
    assert call.is_broken(response) is broken


@pytest.mark.parametrize(("arguments", "shown"), [('{"a": 1}', {"a": 1}), ('{"a": ', '{"a": ')])
def test_arguments_are_parsed_for_a_result_if_they_can_be(arguments: str, shown: object) -> None:
    call = invocation(arguments)
    call.read_quietly()
    assert call.arguments == shown
