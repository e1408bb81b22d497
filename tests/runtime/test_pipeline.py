"""The path of every call: what each stage does, in which order, and that nothing leaves it but a result."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, Field, field_validator

from tests.kit import Foreign, NoParams, PathParams, ProbeTool, call, code_of, raising, returning, run, toolset_of
from toolgate import (
    Approval,
    ApprovalRequest,
    CallableToolset,
    ErrorCode,
    Plan,
    Precondition,
    ToolContext,
    ToolError,
    ToolMode,
    ToolRegistry,
    ToolResponse,
    Workspace,
)
from toolgate.protocol.record import CallRecord
from toolgate.testing import AutoApprover, FakeClock, MemoryRecorder, violations

OK = ToolResponse.success({}, "done")


# the envelope is completed


async def test_the_pipeline_fills_in_time_directory_and_arguments() -> None:
    result = await run(ProbeTool(Params=PathParams), {"path": "a"})
    assert result.response.context == {"cwd": ".", "params_input": {"path": "a"}}
    assert list(result.response.stats) == ["time_ms"]
    assert float(result.response.stats["time_ms"]) >= 0


async def test_what_the_tool_says_about_its_surroundings_is_kept() -> None:
    response = ToolResponse.success(
        {}, "done", stats={"total": 3, "time_ms": -1}, context={"cwd": "sub", "path_resolved": "sub/a"}
    )
    result = await run(ProbeTool(returning(response)))
    assert result.response.context == {"cwd": "sub", "path_resolved": "sub/a", "params_input": {}}
    assert result.response.stats["total"] == 3
    assert float(result.response.stats["time_ms"]) >= 0


async def test_the_tool_cannot_forge_the_arguments_that_it_got() -> None:
    response = ToolResponse.success({}, "done", context={"params_input": {"path": "elsewhere"}})
    result = await run(ProbeTool(returning(response), Params=PathParams), {"path": "a"})
    assert result.response.context["params_input"] == {"path": "a"}


async def test_the_arguments_stay_as_given_whatever_a_foreign_tool_does_to_them() -> None:
    async def clear(arguments: dict[str, Any]) -> str:
        arguments["nested"].append("x")
        arguments.clear()
        return "cleared"

    recorder = MemoryRecorder()
    given: dict[str, Any] = {"a": 1, "nested": []}
    result = await run(Foreign(clear), given, recorder=recorder)
    assert result.response.context["params_input"] == {"a": 1, "nested": []}
    assert recorder.records[-1].payload["arguments"] == {"a": 1, "nested": []}


async def test_a_broken_argument_string_is_kept_as_it_was() -> None:
    assert (await run(ProbeTool(), "{broken")).response.context["params_input"] == "{broken"


async def test_two_calls_that_share_a_response_get_envelopes_of_their_own() -> None:
    toolset = toolset_of(ProbeTool(returning(OK), Params=PathParams))
    first = await toolset.handle(call(arguments={"path": "a"}))
    second = await toolset.handle(call(arguments={"path": "b"}))
    assert [r.response.context["params_input"]["path"] for r in (first, second)] == ["a", "b"]
    assert OK.context == {}


async def test_output_is_text_and_compact_data() -> None:
    result = await run(ProbeTool(returning(ToolResponse.success({"a": [1, "é"]}, "done"))))
    assert (result.output, result.message) == ('done\n{"a":[1,"é"]}', "done")


async def test_output_without_data_is_the_text() -> None:
    assert (await run(ProbeTool())).output == "done"


async def test_the_message_of_a_failure_is_the_errors_and_the_output_says_what_to_do() -> None:
    result = await run(ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, "Gone.", "Look elsewhere.", data={"n": 1}))))
    assert (result.is_error, result.message) == (True, "Gone.")
    assert result.output == 'Gone. Look elsewhere.\n{"n":1}'


async def test_extras_of_a_success_are_empty() -> None:
    assert (await run(ProbeTool())).extras == {}


@pytest.mark.parametrize(
    ("code", "category"),
    [
        (ErrorCode.NOT_FOUND, "execution_error"),
        (ErrorCode.ACCESS_DENIED, "denied"),
        (ErrorCode.PERMISSION_DENIED, "denied"),
        (ErrorCode.INVALID_PARAM, "invalid_usage"),
        (ErrorCode.TIMEOUT, "timeout"),
        (ErrorCode.INTERNAL_ERROR, "execution_error"),
        (ErrorCode.CONFLICT, "execution_error"),
        (ErrorCode.CANCELLED, "cancelled"),
    ],
)
async def test_every_failure_has_a_category(code: ErrorCode, category: str) -> None:
    result = await run(ProbeTool(raising(ToolError(code, "No.", "Use another."))))
    assert (code_of(result), result.extras["failureCategory"]) == (code.value, category)


# whatever a tool does, there is a result


@pytest.mark.parametrize("message", ["", None, ValueError("inner"), 7, b"bytes"])
async def test_a_tool_error_without_proper_words_is_still_that_error(message: Any) -> None:
    result = await run(ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, message))))
    assert code_of(result) == "NOT_FOUND"
    assert result.message.strip()


@pytest.mark.parametrize("data", [["x"], "x", {1: 2}, {"x": object()}])
async def test_a_tool_error_with_odd_data_is_still_an_error(data: Any) -> None:
    result = await run(ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, "Gone.", data=data))))
    assert result.is_error
    result.response.to_json()


async def test_a_validator_that_breaks_is_a_fault_of_the_tool() -> None:
    class Broken(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def _boom(cls, value: int) -> int:  # noqa: ARG003 - the shape of a validator
            raise RuntimeError("/home/someone/private.py is broken")

    tool = ProbeTool(Params=Broken)
    result = await run(tool, {"x": 1})
    assert (code_of(result), tool.calls) == ("INTERNAL_ERROR", [])
    assert "private" not in result.response.to_json()


async def test_a_validator_that_refuses_says_why() -> None:
    class Even(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def _even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("must be even")
            return value

    result = await run(ProbeTool(Params=Even), {"x": 1})
    assert code_of(result) == "INVALID_PARAM"
    assert "must be even" in result.message


class Renders(ProbeTool):
    """Renders as it is told."""

    def __init__(self, shown: Any, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.shown = shown

    def render(self, response: ToolResponse) -> str:
        if isinstance(self.shown, BaseException):
            raise self.shown
        return str(response.data[self.shown]) if isinstance(self.shown, str) else self.shown


@pytest.mark.parametrize("shown", [KeyError("x"), SystemExit(3), RecursionError(), 7, None, b"x"])
async def test_a_render_that_breaks_is_a_fault_of_the_tool(shown: Any) -> None:
    assert code_of(await run(Renders(shown))) == "INTERNAL_ERROR"


async def test_a_render_that_only_knows_success_does_not_hide_an_error() -> None:
    tool = Renders("content", Params=PathParams)
    result = await run(tool, "{broken")
    assert (code_of(result), tool.calls) == ("INVALID_PARAM", [])
    assert "Invalid parameters" in result.output


async def test_a_render_that_only_knows_success_does_not_hide_a_denial() -> None:
    tool = Renders("content", allowed_modes=frozenset({ToolMode.coding}))
    result = await run(tool, mode=ToolMode.chat_safe)
    assert (code_of(result), tool.calls) == ("MODE_DENIED", [])


async def test_a_prepare_that_breaks_is_a_fault_of_the_tool() -> None:
    class Planned(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Plan:
            raise KeyError("x")

    tool = Planned()
    assert (code_of(await run(tool)), tool.calls) == ("INTERNAL_ERROR", [])


async def test_a_prepare_that_returns_something_else_is_a_fault_of_the_tool() -> None:
    class Planned(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Any:
            return {"summary": "x"}

    tool = Planned()
    assert (code_of(await run(tool)), tool.calls) == ("INTERNAL_ERROR", [])


async def test_a_needs_permission_that_breaks_is_a_closed_gate() -> None:
    class Odd(ProbeTool):
        def needs_permission(self, params: Any, context: ToolContext) -> bool:
            raise KeyError("x")

    tool = Odd()
    result = await run(tool, approver=AutoApprover())
    assert (result.is_error, tool.calls) == (True, [])


@pytest.mark.parametrize("answer", [None, 0, "", [], True, 1])
async def test_anything_but_false_asks(answer: Any) -> None:
    class Odd(ProbeTool):
        def needs_permission(self, params: Any, context: ToolContext) -> Any:
            return answer

    tool = Odd()
    assert (code_of(await run(tool)), tool.calls) == ("APPROVAL_DENIED", [])


async def test_false_does_not_ask_even_if_the_tool_requires_permission() -> None:
    class Odd(ProbeTool):
        requires_permission = True

        def needs_permission(self, params: Any, context: ToolContext) -> bool:
            return False

    assert code_of(await run(Odd())) is None


async def test_a_tool_that_fails_can_be_awaited_again() -> None:
    pending = toolset_of(ProbeTool(raising(SystemExit(3)))).handle(call())
    assert await pending is await pending


# the operating system


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError(2, "No such file", "/home/me/secret"), "NOT_FOUND"),
        (PermissionError(13, "denied", "/home/me/secret"), "PERMISSION_DENIED"),
        (PermissionError(1, "denied", "/home/me/secret"), "PERMISSION_DENIED"),
        (IsADirectoryError(21, "dir", "/home/me/secret"), "IS_DIRECTORY"),
        (NotADirectoryError(20, "not", "/home/me/secret"), "NOT_FOUND"),
        (OSError(40, "loop", "/home/me/secret"), "ACCESS_DENIED"),
        (OSError(28, "full", "/home/me/secret"), "EXECUTION_ERROR"),
        (OSError(36, "long", "/home/me/secret"), "INVALID_PARAM"),
        (OSError("/home/me/secret"), "EXECUTION_ERROR"),
        (ConnectionResetError(104, "reset"), "EXECUTION_ERROR"),
        (TimeoutError("/home/me/secret"), "TIMEOUT"),
    ],
)
async def test_errors_of_the_operating_system_become_codes_without_paths(error: OSError, code: str) -> None:
    result = await run(ProbeTool(raising(error), Params=PathParams), {"path": "typed.txt"})
    assert code_of(result) == code
    assert "secret" not in result.response.to_json() + result.output
    assert code == "TIMEOUT" or "'typed.txt'" in result.message


# prepare, permission, gates again


class Planned(ProbeTool):
    """Plans, and keeps the order of things."""

    requires_permission = True

    def __init__(self, plan: Any = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.planned = plan if plan is not None else Plan(summary="Do it", detail="exactly this", payload=[1])
        self.events: list[str] = []
        self.seen: Plan | None = None

    async def prepare(self, params: Any, context: ToolContext) -> Any:
        self.events.append("prepare")
        return self.planned

    async def execute(self, params: Any, context: ToolContext) -> ToolResponse:
        self.events.append("execute")
        self.seen = context.plan
        return OK


class Asked:
    """An approver that does something while it thinks."""

    def __init__(self, meanwhile: Any = None, answer: Any = None) -> None:
        self.requests: list[ApprovalRequest] = []
        self.meanwhile = meanwhile
        self.answer = answer if answer is not None else Approval(allowed=True)

    async def decide(self, request: ApprovalRequest) -> Any:
        self.requests.append(request)
        if self.meanwhile is not None:
            outcome = self.meanwhile()
            if asyncio.iscoroutine(outcome):
                await outcome
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


async def test_prepare_comes_before_the_question_and_the_question_shows_the_plan() -> None:
    tool, approver = Planned(), AutoApprover()
    result = await run(tool, id="c9", approver=approver, session_id="s1")
    (request,) = approver.requests
    assert (request.tool_name, request.call_id, request.session_id) == ("probe", "c9", "s1")
    assert (request.summary, request.detail) == ("Do it", "exactly this")
    assert tool.events == ["prepare", "execute"]
    assert code_of(result) is None


async def test_execute_finds_the_plan_with_its_payload() -> None:
    tool = Planned()
    await run(tool, approver=AutoApprover())
    assert tool.seen is tool.planned


async def test_a_plan_is_not_left_behind_for_the_next_call() -> None:
    tool, other = Planned(), ProbeTool(name="other")
    seen: list[Any] = []

    async def look(params: Any, context: ToolContext) -> ToolResponse:
        seen.append((context.plan, context.call_id))
        return OK

    other.behaviour = look
    toolset = toolset_of(tool, other, approver=AutoApprover())
    await toolset.handle(call())
    await toolset.handle(call("other"))
    assert seen[0][0] is None


async def test_nobody_is_asked_about_what_cannot_work() -> None:
    tool = Planned(ToolResponse.failure(ErrorCode.NOT_FOUND, "It is not there.", next_step="Look elsewhere."))
    approver = AutoApprover()
    result = await run(tool, approver=approver)
    assert (code_of(result), approver.requests, tool.events) == ("NOT_FOUND", [], ["prepare"])


async def test_a_tool_error_while_planning_is_the_answer() -> None:
    class Fails(Planned):
        async def prepare(self, params: Any, context: ToolContext) -> Any:
            raise ToolError(ErrorCode.CONFLICT, "It changed.", "Read it again.")

    approver = AutoApprover()
    assert (code_of(await run(Fails(), approver=approver)), approver.requests) == ("CONFLICT", [])


async def test_no_deadline_runs_while_a_person_thinks() -> None:
    tool = Planned(timeout=0.5)
    approver = Asked(lambda: asyncio.sleep(0.6))
    assert code_of(await run(tool, approver=approver)) is None


async def test_no_lock_is_held_while_a_person_thinks() -> None:
    other = ProbeTool(name="other")
    holder: list[CallableToolset] = []
    texts: list[str] = []

    async def meanwhile() -> None:
        texts.append((await asyncio.wait_for(asyncio.create_task(write()), 60)).response.text)

    async def write() -> Any:
        return await holder[0].handle(call("other"))

    holder.append(toolset_of(Planned(), other, approver=Asked(meanwhile)))
    assert code_of(await holder[0].handle(call())) is None
    assert texts == ["done"]


async def test_a_mode_that_was_taken_away_during_the_question_is_denied() -> None:
    registry, tool = ToolRegistry(), Planned()
    registry.register(tool)
    approver = Asked(lambda: registry.set_mode_override("probe", []))
    context = ToolContext(approver=approver)
    result = await registry.toolset(ToolMode.coding, context).handle(call())
    assert (code_of(result), tool.events) == ("MODE_DENIED", ["prepare"])


async def test_a_tool_that_was_removed_during_the_question_is_not_found() -> None:
    registry, tool = ToolRegistry(), Planned()
    registry.register(tool)
    context = ToolContext(approver=Asked(lambda: registry.unregister("probe")))
    result = await registry.toolset(ToolMode.coding, context).handle(call())
    assert (code_of(result), tool.events) == ("TOOL_NOT_FOUND", ["prepare"])


async def test_a_tool_that_was_replaced_during_the_question_does_not_run_under_the_old_approval() -> None:
    registry, tool, other = ToolRegistry(), Planned(), Planned()
    registry.register(tool)

    def replace() -> None:
        registry.unregister("probe")
        registry.register(other)

    context = ToolContext(approver=Asked(replace))
    result = await registry.toolset(ToolMode.coding, context).handle(call())
    assert (result.is_error, tool.events, other.events) == (True, ["prepare"], [])


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    (tmp_path / "a.txt").write_text("one")
    opened = Workspace(tmp_path)
    yield opened
    opened.close()


def plan_for(workspace: Workspace) -> Plan:
    return Plan(summary="s", preconditions=(Precondition(resource="a.txt", state=workspace.state("a.txt")),))


async def test_a_precondition_that_no_longer_holds_is_a_conflict(workspace: Workspace) -> None:
    tool = Planned(plan_for(workspace))
    approver = Asked(lambda: (workspace.root / "a.txt").write_text("two, from outside"))
    result = await run(tool, approver=approver, workspace=workspace)
    assert (code_of(result), tool.events) == ("CONFLICT", ["prepare"])
    assert "'a.txt'" in result.message


async def test_a_precondition_that_holds_lets_it_run(workspace: Workspace) -> None:
    tool = Planned(plan_for(workspace))
    assert code_of(await run(tool, approver=AutoApprover(), workspace=workspace)) is None
    assert tool.events == ["prepare", "execute"]


async def test_a_tool_may_check_the_preconditions_itself(workspace: Workspace) -> None:
    tool = Planned(plan_for(workspace).model_copy(update={"checks_preconditions": True}))
    approver = Asked(lambda: (workspace.root / "a.txt").write_text("two, from outside"))
    assert code_of(await run(tool, approver=approver, workspace=workspace)) is None
    assert tool.events == ["prepare", "execute"]


async def test_a_precondition_without_a_workspace_is_an_error_and_nothing_runs() -> None:
    tool = Planned(Plan(summary="s", preconditions=(Precondition(resource="a", state="absent"),)))
    result = await run(tool, approver=AutoApprover())
    assert (result.is_error, tool.events) == (True, ["prepare"])


async def test_a_precondition_outside_the_root_is_an_error_and_nothing_runs(workspace: Workspace) -> None:
    tool = Planned(Plan(summary="s", preconditions=(Precondition(resource="../x", state="absent"),)))
    result = await run(tool, approver=AutoApprover(), workspace=workspace)
    assert (result.is_error, tool.events) == (True, ["prepare"])


# the record


def kinds(recorder: MemoryRecorder) -> list[tuple[str, Any]]:
    shown = {"decision": "gate", "started": "arguments", "finished": "code"}
    return [(record.kind, record.payload.get(shown[record.kind])) for record in recorder.records]


async def test_a_call_is_recorded_before_and_after() -> None:
    recorder = MemoryRecorder()
    order: list[str] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        order.extend(record.kind for record in recorder.records)
        return OK

    await run(ProbeTool(behaviour, Params=PathParams), {"path": "a"}, recorder=recorder, session_id="s1")
    assert order == ["decision", "started"]
    assert kinds(recorder) == [("decision", "permission"), ("started", {"path": "a"}), ("finished", None)]
    assert {(r.session_id, r.call_id, r.tool_name) for r in recorder.records} == {("s1", "c1", "probe")}


@pytest.mark.parametrize(
    ("name", "arguments", "mode", "gate", "code"),
    [
        ("nobody", "{}", ToolMode.coding, "resolve", "TOOL_NOT_FOUND"),
        ("probe", "{}", ToolMode.chat_safe, "mode", "MODE_DENIED"),
        ("probe", "{", ToolMode.coding, "arguments", "INVALID_PARAM"),
        ("probe", '{"x": 1}', ToolMode.coding, "arguments", "INVALID_PARAM"),
        ("probe", "{}", ToolMode.coding, "permission", "APPROVAL_DENIED"),
    ],
)
async def test_a_refusal_is_recorded_once_with_its_gate(
    name: str, arguments: str, mode: ToolMode, gate: str, code: str
) -> None:
    recorder = MemoryRecorder()
    tool = ProbeTool(requires_permission=True, allowed_modes=frozenset({ToolMode.coding}))
    await toolset_of(tool, mode=mode, recorder=recorder).handle(call(name, arguments))
    assert kinds(recorder) == [("decision", gate), ("finished", code)]
    assert recorder.records[0].payload["decision"] == "deny"


async def test_an_approval_is_recorded_as_the_persons_decision() -> None:
    recorder = MemoryRecorder()
    approver = AutoApprover(message="go ahead")
    await run(ProbeTool(requires_permission=True), recorder=recorder, approver=approver)
    decisions = [record.payload for record in recorder.records if record.kind == "decision"]
    assert decisions == [{"decision": "allow", "gate": "permission", "rule": "", "reason": "go ahead"}]


class FailingRecorder(MemoryRecorder):
    """Cannot write records of one kind."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    async def record(self, record: CallRecord) -> None:
        if record.kind == self.kind:
            raise OSError(28, "No space left on device", "/var/lib/records")
        await super().record(record)


@pytest.mark.parametrize("kind", ["decision", "started"])
async def test_a_call_that_cannot_be_recorded_is_not_run(kind: str) -> None:
    tool = ProbeTool()
    result = await run(tool, recorder=FailingRecorder(kind))
    assert (code_of(result), tool.calls) == ("EXECUTION_ERROR", [])
    assert violations(result, root="/var/lib") == []


async def test_a_result_is_not_lost_with_its_record(caplog: pytest.LogCaptureFixture) -> None:
    tool = ProbeTool()
    result = await run(tool, recorder=FailingRecorder("finished"))
    assert (code_of(result), len(tool.calls)) == (None, 1)
    assert "record_failed" in caplog.text


async def test_a_refusal_that_cannot_be_recorded_stays_a_refusal() -> None:
    result = await run(ProbeTool(requires_permission=True), recorder=FailingRecorder("decision"))
    assert code_of(result) == "APPROVAL_DENIED"


# the breaker


def breaking(response: Any = None, **attributes: Any) -> ProbeTool:
    return ProbeTool(raising(KeyError("x")) if response is None else returning(response), **attributes)


async def codes(toolset: CallableToolset, times: int, arguments: str = "{}") -> list[str | None]:
    return [code_of(await toolset.handle(call(arguments=arguments))) for _ in range(times)]


async def test_three_internal_errors_in_a_row_open_the_breaker() -> None:
    tool = breaking()
    toolset = toolset_of(tool)
    assert await codes(toolset, 5) == ["INTERNAL_ERROR"] * 3 + ["CIRCUIT_OPEN"] * 2
    assert len(tool.calls) == 3


async def test_an_open_breaker_hides_the_tool() -> None:
    toolset = toolset_of(breaking(), ProbeTool(name="other"))
    await codes(toolset, 3)
    assert [definition.name for definition in toolset.tools] == ["other"]
    assert "probe" not in (await toolset.handle(call("unknown"))).message.partition("CORRECTION")[2]


async def test_the_breaker_counts_what_cannot_be_said_in_json() -> None:
    toolset = toolset_of(breaking(ToolResponse.success({"x": float("nan")}, "done")))
    assert await codes(toolset, 4) == ["INTERNAL_ERROR"] * 3 + ["CIRCUIT_OPEN"]


async def test_the_breaker_counts_what_is_no_response() -> None:
    assert await codes(toolset_of(breaking("just text")), 4) == ["INTERNAL_ERROR"] * 3 + ["CIRCUIT_OPEN"]


async def test_the_breaker_counts_plans_that_break() -> None:
    class Breaks(Planned):
        async def prepare(self, params: Any, context: ToolContext) -> Any:
            raise KeyError("x")

    assert await codes(toolset_of(Breaks()), 4) == ["INTERNAL_ERROR"] * 3 + ["CIRCUIT_OPEN"]


async def test_the_breaker_counts_foreign_tools() -> None:
    def fail(arguments: dict[str, Any]) -> Any:
        raise KeyError("x")

    toolset = toolset_of(Foreign(fail, name="probe"))
    assert await codes(toolset, 4) == ["INTERNAL_ERROR"] * 3 + ["CIRCUIT_OPEN"]


async def test_bad_input_and_denials_never_open_the_breaker() -> None:
    toolset = toolset_of(ProbeTool(requires_permission=True))
    assert await codes(toolset, 5, "{broken") == ["INVALID_PARAM"] * 5
    assert await codes(toolset, 5) == ["APPROVAL_DENIED"] * 5


@pytest.mark.parametrize(
    "code", [code for code in ErrorCode if code not in (ErrorCode.INTERNAL_ERROR, ErrorCode.CANCELLED)]
)
async def test_expected_failures_never_open_the_breaker(code: ErrorCode) -> None:
    toolset = toolset_of(ProbeTool(raising(ToolError(code, "No.", "Use another."))))
    assert await codes(toolset, 5) == [code.value] * 5


async def test_a_success_in_between_closes_the_count() -> None:
    outcomes = iter([KeyError, KeyError, None, KeyError, KeyError, None])

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        error = next(outcomes)
        if error is not None:
            raise error("x")
        return OK

    broken = "INTERNAL_ERROR"
    assert await codes(toolset_of(ProbeTool(behaviour)), 6) == [broken, broken, None, broken, broken, None]


async def test_after_its_rest_one_call_may_try_and_success_closes_it() -> None:
    clock = FakeClock()
    context = ToolContext(mode=ToolMode.coding)
    context.clock = clock
    tool = breaking()
    toolset = CallableToolset([tool], context)
    await codes(toolset, 3)
    clock.advance(59)
    assert await codes(toolset, 1) == ["CIRCUIT_OPEN"]
    clock.advance(1.5)
    tool.behaviour = returning(OK)
    assert [definition.name for definition in toolset.tools] == ["probe"]
    assert await codes(toolset, 2) == [None, None]


async def test_a_try_that_breaks_opens_it_for_another_rest() -> None:
    clock = FakeClock()
    context = ToolContext(mode=ToolMode.coding)
    context.clock = clock
    toolset = CallableToolset([breaking()], context)
    await codes(toolset, 3)
    clock.advance(61)
    assert await codes(toolset, 2) == ["INTERNAL_ERROR", "CIRCUIT_OPEN"]
    clock.advance(59)
    assert await codes(toolset, 1) == ["CIRCUIT_OPEN"]


async def test_after_its_rest_exactly_one_of_many_calls_tries() -> None:
    clock = FakeClock()
    context = ToolContext(mode=ToolMode.coding)
    context.clock = clock
    tool = breaking(read_only=True)
    toolset = CallableToolset([tool], context)
    await codes(toolset, 3)
    clock.advance(61)

    async def slow(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0.01)
        return OK

    tool.behaviour = slow
    results = await asyncio.gather(*(toolset.handle(call(id=str(number))) for number in range(5)))
    assert sorted(code_of(result) or "" for result in results) == ["", *["CIRCUIT_OPEN"] * 4]


async def test_a_try_that_was_cancelled_leaves_room_for_another() -> None:
    clock = FakeClock()
    context = ToolContext(mode=ToolMode.coding)
    context.clock = clock
    tool = breaking()
    toolset = CallableToolset([tool], context)
    await codes(toolset, 3)
    clock.advance(61)

    async def slow(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(600)
        return OK

    tool.behaviour = slow
    pending = toolset.handle(call())
    await asyncio.sleep(0.01)
    pending.cancel()
    await pending
    tool.behaviour = returning(OK)
    assert await codes(toolset, 1) == [None]


async def test_two_toolsets_of_one_context_share_the_breaker_and_two_contexts_do_not() -> None:
    context = ToolContext(mode=ToolMode.coding)
    tool = breaking()
    await codes(CallableToolset([tool], context), 3)
    assert await codes(CallableToolset([tool], context), 1) == ["CIRCUIT_OPEN"]
    assert await codes(toolset_of(tool), 1) == ["INTERNAL_ERROR"]


# arguments and schemas


async def test_empty_and_blank_arguments_mean_an_empty_object() -> None:
    tool = ProbeTool()
    for text in ("", " ", "\n\t \r\n"):
        assert code_of(await run(tool, text)) is None
    assert tool.calls == [NoParams()] * 3


async def test_all_offending_keys_are_named_with_what_was_expected_and_an_example() -> None:
    result = await run(ProbeTool(Params=PathParams), {"limit": "3", "colour": "red", "size": 1})
    message = result.message
    assert message.startswith("Invalid parameters for probe: ")
    for words in ("path: required, expected string", "limit: ", "expected integer", "colour: unknown", "size: unknown"):
        assert words in message
    assert 'CORRECTION: call probe with {"path": "…"}' in message
    assert result.extras == {"failureCategory": "invalid_usage", "toolName": "probe"}


async def test_unknown_keys_are_refused_although_the_model_would_ignore_them() -> None:
    class Lax(BaseModel):
        path: str

    tool = ProbeTool(Params=Lax)
    result = await run(tool, {"path": "a", "mode": "coding"})
    assert (code_of(result), tool.calls) == ("INVALID_PARAM", [])
    assert "mode: unknown key" in result.message


@pytest.mark.parametrize(("key", "params"), [("from", "alias"), ("from", "validation_alias"), ("source", "choices")])
async def test_a_parameter_may_have_another_name_in_json(key: str, params: str) -> None:
    class Alias(BaseModel):
        source_: str = Field(alias="from")

    class Validation(BaseModel):
        source_: str = Field(validation_alias="from")

    class Choices(BaseModel):
        source_: str = Field(validation_alias=AliasChoices("from", "source"))

    models: dict[str, Any] = {"alias": Alias, "validation_alias": Validation, "choices": Choices}
    tool = ProbeTool(Params=models[params])
    assert code_of(await run(tool, {key: "here"})) is None
    assert tool.calls[0].source_ == "here"


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, ["a", "b"]),
        ({"a": 1, "b": "x"}, ["a", "b"]),
        ({"a": "x", "b": 1, "c": 1, "d": 2}, ["c", "d"]),
        ({"a": 1, "c": 1}, ["a", "b", "c"]),
    ],
)
async def test_a_foreign_schema_names_every_offending_key(arguments: dict[str, Any], named: list[str]) -> None:
    tool = Foreign(lambda given: returning("fine")(given, ToolContext()), SCHEMA)
    result = await run(tool, arguments)
    assert (code_of(result), tool.calls) == ("INVALID_PARAM", [])
    problems = result.message.removeprefix("Invalid parameters for foreign: ").partition("CORRECTION")[0]
    assert [
        key for key in named if f'"{key}"' not in problems and f"'{key}'" not in problems and f"{key}:" not in problems
    ] == []
    assert result.extras == {"failureCategory": "invalid_usage", "toolName": "foreign"}


@pytest.mark.parametrize("number", ["9" * 40, "-" + "9" * 40, "1e300", "9" * 4000])
async def test_a_foreign_tool_gets_large_numbers_or_a_refusal(number: str) -> None:
    tool = Foreign(lambda given: returning(str(len(str(given["n"]))))(given, ToolContext()), {"type": "object"})
    result = await run(tool, f'{{"n": {number}}}')
    assert code_of(result) in (None, "INVALID_PARAM")
    assert result.response.to_json()


# log


async def test_a_normal_run_does_not_warn(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await run(ProbeTool(), recorder=MemoryRecorder())
    assert [record for record in caplog.records if record.name.startswith("toolgate")] == []


async def test_a_broken_tool_is_logged_with_its_traceback_and_the_model_reads_nothing_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await run(ProbeTool(raising(KeyError("what went wrong"))))
    (record,) = [record for record in caplog.records if "tool_failed" in record.getMessage()]
    assert (record.name, record.levelname) == ("toolgate.pipeline", "ERROR")
    assert "tool_failed tool_name='probe' error='KeyError'" in record.getMessage()
    assert "Traceback (most recent call last)" in caplog.text
    assert "KeyError: 'what went wrong'" in caplog.text
    assert "kit.py" in caplog.text
    assert "what went wrong" not in result.output + result.response.to_json()
    assert "Traceback" not in result.output


async def test_an_expected_failure_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    await run(ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, "No such thing.", "Name another."))))
    assert [record for record in caplog.records if record.name == "toolgate.pipeline"] == []
