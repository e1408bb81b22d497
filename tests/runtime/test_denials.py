"""A mode is one answer in five places, and a denial has the same words every time."""

import json
from typing import Any

import pytest

from tests.kit import BOTH, Foreign, PathParams, ProbeTool, call, code_of, toolset_of
from toolgate import ToolContext, ToolDenied, ToolMode, ToolRegistry, builtin_registry
from toolgate.settings import SessionSettings, Settings
from toolgate.testing import AutoApprover, MemoryRecorder, violations

CODING = frozenset({ToolMode.coding})


def registry_of(*tools: ProbeTool) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    return registry


@pytest.mark.parametrize("mode", list(ToolMode))
@pytest.mark.parametrize("override", [None, [], [ToolMode.coding]])
async def test_m01_schema_list_check_toolset_and_execution_agree(mode: ToolMode, override: Any) -> None:
    registry = builtin_registry()
    registry.register(ProbeTool(name="closed", allowed_modes=frozenset()))
    registry.register(Foreign(lambda _: 1), modes=[ToolMode.coding])
    names = [definition.name for definition in registry.describe()]
    if override is not None:
        for name in names:
            if registry.get_effective_modes(name) >= set(override):
                registry.set_mode_override(name, override)
    ports: Any = {"memory": object(), "agents": object()}  # never used: the arguments are broken
    toolset = registry.toolset(mode, ToolContext(approver=AutoApprover(allow=False), **ports))
    executed = []
    for name in names:
        if code_of(await toolset.handle(call(name, "{broken"))) != "MODE_DENIED":
            executed.append(name)
    answers = [
        [tool.name for tool in registry.list_tools(mode)],
        [entry["function"]["name"] for entry in registry.get_tools_schema(mode)],
        [name for name in names if registry.check_mode(name, mode)],
        [name for name in names if mode in registry.get_effective_modes(name)],
        [definition.name for definition in toolset.tools],
        executed,
    ]
    assert [answer for answer in answers if answer != answers[0]] == []


async def test_m02_a_call_that_the_mode_does_not_allow_is_denied_and_the_turn_goes_on() -> None:
    tool, recorder = ProbeTool(name="read_file", Params=PathParams, allowed_modes=CODING), MemoryRecorder()
    toolset = toolset_of(tool, ProbeTool(name="other"), mode=ToolMode.chat_safe, recorder=recorder)
    result = await toolset.handle(call("read_file", {"path": "a"}, id="m02"))
    assert (result.tool_call_id, code_of(result), tool.calls) == ("m02", "MODE_DENIED", [])
    assert result.extras["failureCategory"] == "denied"
    assert violations(result) == []
    assert [(record.kind, record.payload.get("gate")) for record in recorder.records] == [
        ("decision", "mode"),
        ("finished", None),
    ]
    assert code_of(await toolset.handle(call("other"))) is None


async def test_m02_the_output_is_the_denial_as_json() -> None:
    tool = ProbeTool(name="read_file", allowed_modes=CODING)
    result = await toolset_of(tool, mode=ToolMode.chat_safe).handle(call("read_file", id="m02"))
    document = json.loads(result.output)
    assert document.keys() == {"ok", "error_code", "tool_name", "call_id", "mode", "message", "next_action"}
    assert (document["ok"], document["error_code"]) == (False, "MODE_DENIED")
    assert (document["tool_name"], document["call_id"], document["mode"]) == ("read_file", "m02", "chat_safe")
    denied = ToolDenied(**{key: value for key, value in document.items() if key != "ok"})
    assert denied.model_dump() == result.response.data


async def test_m02_the_mode_comes_before_the_arguments() -> None:
    tool = ProbeTool(allowed_modes=CODING)
    toolset = toolset_of(tool, mode=ToolMode.chat_safe)
    assert code_of(await toolset.handle(call(arguments="{broken"))) == "MODE_DENIED"


@pytest.mark.parametrize("mode", list(ToolMode))
async def test_m03_an_unknown_tool_is_not_found_and_not_denied(mode: ToolMode) -> None:
    result = await builtin_registry().toolset(mode, ToolContext()).handle(call("no_such_tool"))
    assert (code_of(result), result.extras["failureCategory"]) == ("TOOL_NOT_FOUND", "command_not_found")
    assert "MODE_DENIED" not in result.output


async def test_m03_a_tool_outside_the_view_is_not_found_even_where_the_mode_would_deny_it() -> None:
    view = builtin_registry().filter(["current_time"])
    assert code_of(await view.toolset(ToolMode.chat_safe, ToolContext()).handle(call("read_file"))) == "TOOL_NOT_FOUND"


@pytest.mark.parametrize("mode", list(ToolMode))
async def test_m04_a_tool_without_modes_is_invisible_and_denied(
    mode: ToolMode, caplog: pytest.LogCaptureFixture
) -> None:
    tool = ProbeTool(allowed_modes=frozenset())
    registry = registry_of(tool)
    assert "tool_registered_with_default_modes" in caplog.text
    assert (registry.list_tools(mode), registry.get_tools_schema(mode)) == ([], [])
    result = await registry.toolset(mode, ToolContext(approver=AutoApprover())).handle(call())
    assert (code_of(result), tool.calls) == ("MODE_DENIED", [])


def test_m07_overrides() -> None:
    registry = registry_of(ProbeTool(name="both"), ProbeTool(name="one", allowed_modes=CODING))
    with pytest.raises(ValueError, match="only tighten"):
        registry.set_mode_override("one", BOTH)
    with pytest.raises(ValueError, match="only tighten"):
        registry.set_mode_override("one", [ToolMode.chat_safe])
    assert registry.get_effective_modes("one") == CODING
    registry.set_mode_override("both", [ToolMode.chat_safe])
    registry.set_mode_override("both", [ToolMode.coding])
    assert registry.get_effective_modes("both") == CODING
    with pytest.raises(KeyError):
        registry.set_mode_override("nobody", [])


NEARLY = [
    "Read_File",
    "READ_FILE",
    "read_file ",
    " read_file",
    "read_file\u200b",
    "read_file\n",
    "read_file\x00",
    "functions.read_file",
    "../read_file",
    "read-file",
    "readfile",
    "read_file()",
    "ｒead_file",
    "read_fiIe",
    "",
]


@pytest.mark.parametrize("name", NEARLY)
@pytest.mark.parametrize("mode", list(ToolMode))
async def test_m09_a_name_that_is_nearly_right_is_not_found(name: str, mode: ToolMode) -> None:
    tool = ProbeTool(name="read_file")
    toolset = registry_of(tool).toolset(mode, ToolContext())
    assert (code_of(await toolset.handle(call(name))), tool.calls) == ("TOOL_NOT_FOUND", [])


@pytest.mark.parametrize(
    "arguments",
    ['{"mode": "coding"}', '{"path": "a", "mode": "coding"}', '{"path": "the mode is now coding"}', '"mode=coding"'],
)
async def test_m10_nothing_that_a_model_says_changes_the_mode(arguments: str) -> None:
    tool = ProbeTool(Params=PathParams, allowed_modes=CODING)
    open_tool = Foreign(lambda arguments: arguments, name="open")
    context = ToolContext(mode=ToolMode.chat_safe)
    registry = registry_of(tool)
    registry.register(open_tool, modes=[ToolMode.chat_safe])
    toolset = registry.toolset(ToolMode.chat_safe, context)
    await toolset.handle(call("open", arguments))
    assert code_of(await toolset.handle(call("probe", arguments))) == "MODE_DENIED"
    assert (context.mode, toolset.context.mode, tool.calls) == (ToolMode.chat_safe, ToolMode.chat_safe, [])


async def test_m10_a_context_that_is_changed_later_does_not_open_the_toolset() -> None:
    tool = ProbeTool(allowed_modes=CODING)
    context = ToolContext()
    toolset = registry_of(tool).toolset(ToolMode.chat_safe, context)
    context.mode = ToolMode.coding
    assert code_of(await toolset.handle(call())) == "MODE_DENIED"


async def test_m11_the_same_denied_call_is_denied_in_the_same_words() -> None:
    toolset = toolset_of(ProbeTool(allowed_modes=CODING), mode=ToolMode.chat_safe)
    results = [await toolset.handle(call()) for _ in range(100)]
    assert len({result.output for result in results}) == 1
    assert len({result.message for result in results}) == 1
    assert len({result.response.text for result in results}) == 1


def test_m12_a_duplicate_name_is_refused_and_the_first_stays() -> None:
    first = ProbeTool(allowed_modes=CODING)
    registry = registry_of(first)
    with pytest.raises(ValueError, match="already registered"):
        registry.register(ProbeTool())
    assert registry.get("probe") is first
    assert registry.get_effective_modes("probe") == CODING


# next_action follows the stage


async def next_action(tool: ProbeTool, *, coding_enabled: bool, mode: ToolMode = ToolMode.chat_safe) -> str:
    session = SessionSettings(coding_enabled=coding_enabled)
    settings = Settings.defaults().model_copy(update={"session": session})
    result = await toolset_of(tool, mode=mode, settings=settings).handle(call())
    action: str = json.loads(result.output)["next_action"]
    return action


async def test_while_coding_is_not_enabled_nothing_is_offered_that_cannot_be_reached() -> None:
    action = await next_action(ProbeTool(allowed_modes=CODING), coding_enabled=False)
    assert "not enabled" in action
    for word in ("/mode", "--coding", "toolgate ", "set_mode", "switch", "session.create", "SESSION_", "start a"):
        assert word not in action.lower()


async def test_while_coding_is_enabled_a_new_session_is_offered() -> None:
    action = await next_action(ProbeTool(allowed_modes=CODING), coding_enabled=True)
    assert "new session in coding mode" in action


async def test_a_tool_that_no_mode_allows_offers_no_other_mode() -> None:
    action = await next_action(ProbeTool(allowed_modes=frozenset()), coding_enabled=True)
    assert "coding mode" not in action


async def test_a_tool_that_only_chat_safe_allows_offers_no_coding() -> None:
    tool = ProbeTool(allowed_modes=frozenset({ToolMode.chat_safe}))
    assert "coding mode" not in await next_action(tool, coding_enabled=True, mode=ToolMode.coding)
