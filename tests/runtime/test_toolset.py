"""`CallableToolset`: what is shown, what is said about what is not, and what would be decided."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Foreign, PathParams, ProbeTool, call, code_of, raising, toolset_of
from toolgate import (
    CallableToolset,
    Decision,
    Plan,
    PolicyError,
    ToolContext,
    ToolError,
    ToolMode,
    ToolResponse,
    Workspace,
)
from toolgate.protocol.codes import ErrorCode
from toolgate.testing import AutoApprover, MemoryRecorder

CODING = frozenset({ToolMode.coding})


def test_tools_are_the_definitions() -> None:
    tool = ProbeTool(Params=PathParams)
    assert toolset_of(tool).tools == [tool.tool_definition]


def test_without_a_context_the_mode_is_chat_safe() -> None:
    toolset = CallableToolset([ProbeTool(name="a"), ProbeTool(name="b", allowed_modes=CODING)])
    assert [definition.name for definition in toolset.tools] == ["a"]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="already registered"):
        toolset_of(ProbeTool(), ProbeTool())


async def test_a_tool_without_modes_is_neither_shown_nor_run() -> None:
    tool = ProbeTool(allowed_modes=frozenset())
    toolset = toolset_of(tool)
    assert toolset.tools == []
    assert code_of(await toolset.handle(call())) == "MODE_DENIED"
    assert tool.calls == []


async def test_a_native_tool_is_gated_and_a_bare_foreign_one_is_not() -> None:
    toolset = toolset_of(ProbeTool(allowed_modes=CODING), Foreign(lambda _: 1), mode=ToolMode.chat_safe)
    assert [definition.name for definition in toolset.tools] == ["foreign"]
    assert code_of(await toolset.handle(call())) == "MODE_DENIED"
    assert code_of(await toolset.handle(call("foreign"))) is None


# unknown tools


async def test_an_unknown_tool_is_an_answer_that_can_be_repaired() -> None:
    result = await toolset_of(ProbeTool(name="Bash")).handle(call("UnknownTool", id="u1"))
    assert (result.tool_call_id, result.is_error, code_of(result)) == ("u1", True, "TOOL_NOT_FOUND")
    assert result.extras["failureCategory"] == "command_not_found"
    for words in ("Unknown tool", "UnknownTool", "CORRECTION", 'Bash(command="UnknownTool <args>")', "Bash"):
        assert words in result.message


async def test_a_caller_without_any_tool_is_pointed_to_bash() -> None:
    result = await CallableToolset([]).handle(call("UnknownTool"))
    assert 'Bash(command="UnknownTool <args>")' in result.message
    assert "CORRECTION" in result.message


async def test_a_caller_with_tools_but_no_bash_is_told_what_there_is() -> None:
    result = await toolset_of(ProbeTool(name="a"), ProbeTool(name="b")).handle(call("x"))
    assert "Bash" not in result.message
    assert "Unknown tool" in result.message
    assert "CORRECTION" in result.message
    assert "a, b" in result.message


async def test_a_bash_that_the_mode_hides_is_not_offered() -> None:
    toolset = toolset_of(ProbeTool(name="Bash", allowed_modes=CODING), ProbeTool(name="a"), mode=ToolMode.chat_safe)
    assert "Bash" not in (await toolset.handle(call("x"))).message


async def test_hidden_names_are_never_listed() -> None:
    toolset = toolset_of(
        ProbeTool(name="a"),
        ProbeTool(name="secret_tool", allowed_modes=CODING),
        ProbeTool(name="closed_tool", allowed_modes=frozenset()),
        mode=ToolMode.chat_safe,
    )
    result = await toolset.handle(call("x"))
    assert "secret_tool" not in result.response.to_json()
    assert "closed_tool" not in result.response.to_json()


@pytest.mark.parametrize("name", ["x" * 10_000, "a\nb", "a\x1b[31mb", "", "a\u202eb", "\ud800", '"; rm -rf /'])
async def test_an_odd_name_is_answered_in_printable_words(name: str) -> None:
    result = await toolset_of(ProbeTool()).handle(call(name))
    assert code_of(result) == "TOOL_NOT_FOUND"
    assert len(result.message) < 1_000
    assert result.message.isprintable()
    assert result.response.to_json().encode()


async def test_an_unknown_tool_with_broken_arguments_is_unknown() -> None:
    assert code_of(await toolset_of(ProbeTool()).handle(call("x", "{"))) == "TOOL_NOT_FOUND"


# explain


async def explained(toolset: CallableToolset, **changes: Any) -> tuple[str, str]:
    decision = await toolset.explain(call(**changes))
    assert isinstance(decision, Decision)
    assert decision.reason
    return decision.decision, decision.gate


async def test_explain_names_the_gate() -> None:
    toolset = toolset_of(
        ProbeTool(Params=PathParams), ProbeTool(name="asks", requires_permission=True), ProbeTool(name="plain")
    )
    assert await explained(toolset, name="nobody") == ("deny", "resolve")
    assert await explained(toolset, arguments="{") == ("deny", "arguments")
    assert await explained(toolset, arguments="{}") == ("deny", "arguments")
    assert await explained(toolset, name="asks") == ("ask", "permission")
    assert await explained(toolset, name="plain") == ("allow", "permission")


async def test_explain_names_the_mode_and_the_breaker() -> None:
    tool = ProbeTool(raising(KeyError("x")), allowed_modes=CODING)
    assert await explained(toolset_of(tool, mode=ToolMode.chat_safe)) == ("deny", "mode")
    toolset = toolset_of(tool)
    for _ in range(3):
        await toolset.handle(call())
    assert await explained(toolset) == ("deny", "breaker")


async def test_explain_executes_asks_and_records_nothing() -> None:
    tool = ProbeTool(requires_permission=True)
    approver, recorder = AutoApprover(), MemoryRecorder()
    await toolset_of(tool, approver=approver, recorder=recorder).explain(call())
    assert (tool.calls, approver.requests, recorder.records) == ([], [], [])


async def test_explain_of_a_call_that_cannot_work_says_so() -> None:
    class Fails(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Plan:
            raise ToolError(ErrorCode.NOT_FOUND, "It is not there.", "Look elsewhere.")

    decision = await toolset_of(Fails()).explain(call())
    assert (decision.decision, decision.gate, decision.reason) == ("deny", "prepare", "It is not there.")


async def test_explain_does_not_raise_when_a_gate_breaks() -> None:
    class Breaks(ProbeTool):
        def needs_permission(self, params: Any, context: ToolContext) -> bool:
            raise KeyError("x")

    assert (await toolset_of(Breaks()).explain(call())).decision == "deny"


# the project's policy


def policy(root: Path, text: str) -> None:
    (root / ".toolgate").mkdir()
    (root / ".toolgate" / "policy.toml").write_text(text)


RULE = (
    '[[rule]]\ntool = "probe"\nargs = {{ path = "docs/**" }}\ndecision = "{decision}"\nreason = "the docs are done"\n'
)


async def with_policy(tmp_path: Path, text: str, tool: ProbeTool, **context: Any) -> CallableToolset:
    policy(tmp_path, text)
    return toolset_of(tool, workspace=Workspace(tmp_path), **context)


async def test_the_projects_policy_denies(tmp_path: Path) -> None:
    tool = ProbeTool(Params=PathParams)
    toolset = await with_policy(tmp_path, RULE.format(decision="deny"), tool, approver=AutoApprover())
    denied = await toolset.handle(call(arguments={"path": "docs/a.md"}))
    allowed = await toolset.handle(call(arguments={"path": "src/a.py"}))
    assert (code_of(denied), code_of(allowed), len(tool.calls)) == ("APPROVAL_DENIED", None, 1)
    assert "the docs are done" in denied.message
    decision = await toolset.explain(call(arguments={"path": "docs/a.md"}))
    assert (decision.decision, decision.gate) == ("deny", "policy")
    assert "project rule 1" in decision.rule


async def test_the_projects_policy_asks(tmp_path: Path) -> None:
    tool, approver = ProbeTool(Params=PathParams), AutoApprover()
    toolset = await with_policy(tmp_path, RULE.format(decision="ask"), tool, approver=approver)
    assert code_of(await toolset.handle(call(arguments={"path": "docs/a.md"}))) is None
    await toolset.handle(call(arguments={"path": "src/a.py"}))
    assert len(approver.requests) == 1


async def test_a_rule_asks_and_nobody_is_there(tmp_path: Path) -> None:
    tool = ProbeTool(Params=PathParams)
    toolset = await with_policy(tmp_path, RULE.format(decision="ask"), tool)
    assert code_of(await toolset.handle(call(arguments={"path": "docs/a.md"}))) == "APPROVAL_DENIED"


async def test_the_project_cannot_allow(tmp_path: Path) -> None:
    tool = ProbeTool(Params=PathParams, requires_permission=True)
    toolset = await with_policy(tmp_path, RULE.format(decision="allow"), tool)
    assert code_of(await toolset.handle(call(arguments={"path": "docs/a.md"}))) == "APPROVAL_DENIED"


@pytest.mark.parametrize("text", ["not toml [", '[[rule]]\ntool = "probe"\n', "\x00"])
def test_an_invalid_policy_stops_the_start(tmp_path: Path, text: str) -> None:
    policy(tmp_path, text)
    with pytest.raises(PolicyError):
        toolset_of(ProbeTool(), workspace=Workspace(tmp_path))


async def test_a_policy_for_a_tool_without_permission_is_seen_although_the_tool_never_asks(tmp_path: Path) -> None:
    tool = ProbeTool(Params=PathParams, read_only=True)
    toolset = await with_policy(tmp_path, RULE.format(decision="deny"), tool)
    assert code_of(await toolset.handle(call(arguments={"path": "docs/a.md"}))) == "APPROVAL_DENIED"
    assert tool.calls == []


# a turn


async def test_a_whole_turn_comes_back_in_order_with_its_ids() -> None:
    toolset = toolset_of(
        ProbeTool(read_only=True), ProbeTool(name="writer"), ProbeTool(raising(KeyError("x")), name="bad")
    )
    calls = [
        call(id="1"),
        call("writer", id="2"),
        call("bad", id="3"),
        call("nobody", id="4"),
        call(arguments="{", id="5"),
        call(id="6"),
    ]
    results = await toolset.handle_all(calls)
    assert [(result.tool_call_id, code_of(result)) for result in results] == [
        ("1", None),
        ("2", None),
        ("3", "INTERNAL_ERROR"),
        ("4", "TOOL_NOT_FOUND"),
        ("5", "INVALID_PARAM"),
        ("6", None),
    ]


async def test_two_calls_with_the_same_id_are_two_calls() -> None:
    async def echo(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0)
        return ToolResponse.success({"path": params.path}, "done")

    toolset = toolset_of(ProbeTool(echo, Params=PathParams, read_only=True))
    results = await toolset.handle_all([call(arguments={"path": path}, id="same") for path in ("a", "b")])
    assert [(r.tool_call_id, r.response.data["path"]) for r in results] == [("same", "a"), ("same", "b")]
