"""Modes in both gates, the agent loop, the prompt and the session manager."""

import contextlib
import json
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.kit import NoParams
from toolgate import (
    Tool,
    ToolCall,
    ToolContext,
    ToolDenied,
    ToolGroup,
    ToolMode,
    ToolRegistry,
    ToolResponse,
    ToolResult,
    Workspace,
    builtin_registry,
)
from toolgate.agent import AgentLoop, PromptBuilder, TextChunk, ToolCallInfo, TurnDone
from toolgate.sessions import Database, InMemorySessions, SessionManager
from toolgate.settings import SessionSettings, Settings
from toolgate.testing import ScriptedModel


class UndeclaredTool(Tool[NoParams]):
    """Says nothing about group and modes."""

    name = "undeclared"
    description = "Declares nothing."
    Params = NoParams
    executions = 0

    async def execute(self, params: NoParams, context: ToolContext) -> ToolResponse:
        type(self).executions += 1
        return ToolResponse.success({}, "done")


@pytest.fixture
def registry() -> ToolRegistry:
    return builtin_registry()


def names_in_schema(registry: ToolRegistry, mode: ToolMode) -> set[str]:
    return {entry["function"]["name"] for entry in registry.get_tools_schema(mode)}


async def denied_call(registry: ToolRegistry, call_id: str = "call_1") -> ToolResult:
    toolset = registry.toolset(ToolMode.chat_safe, ToolContext())
    return await toolset.handle(ToolCall(id=call_id, name="read_file", arguments='{"path": "README.md"}'))


def test_tool_group_enum_values() -> None:
    assert {group.value for group in ToolGroup} == {"code", "memory", "world"}


def test_tool_mode_enum_values() -> None:
    assert {mode.value for mode in ToolMode} == {"chat_safe", "coding"}


def test_base_tool_default_group_is_code() -> None:
    assert UndeclaredTool().group is ToolGroup.code


def test_base_tool_default_allowed_modes_is_empty() -> None:
    assert UndeclaredTool().allowed_modes == frozenset()


def group_and_modes(registry: ToolRegistry, name: str) -> tuple[ToolGroup, frozenset[ToolMode]]:
    tool = registry.get(name)
    assert tool is not None
    return tool.group, tool.allowed_modes


def test_current_time_group_and_modes(registry: ToolRegistry) -> None:
    assert group_and_modes(registry, "current_time") == (ToolGroup.world, frozenset(ToolMode))


def test_memory_search_group_and_modes(registry: ToolRegistry) -> None:
    assert group_and_modes(registry, "memory_search") == (ToolGroup.memory, frozenset(ToolMode))


def test_read_file_group_and_modes(registry: ToolRegistry) -> None:
    assert group_and_modes(registry, "read_file") == (ToolGroup.code, frozenset({ToolMode.coding}))


def test_current_time_allowed_in_chat_safe(registry: ToolRegistry) -> None:
    assert registry.check_mode("current_time", ToolMode.chat_safe) is True


def test_memory_search_allowed_in_chat_safe(registry: ToolRegistry) -> None:
    assert registry.check_mode("memory_search", ToolMode.chat_safe) is True


def test_read_file_not_in_chat_safe_schema(registry: ToolRegistry) -> None:
    assert "read_file" not in names_in_schema(registry, ToolMode.chat_safe)


def test_read_file_denied_in_chat_safe(registry: ToolRegistry) -> None:
    assert registry.check_mode("read_file", ToolMode.chat_safe) is False


async def test_read_file_allowed_in_coding(registry: ToolRegistry, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("hello\n")
    workspace = Workspace(tmp_path)
    toolset = registry.toolset(ToolMode.coding, ToolContext(workspace=workspace))
    result = await toolset.handle(ToolCall(id="1", name="read_file", arguments='{"path": "README.md"}'))
    workspace.close()
    assert registry.check_mode("read_file", ToolMode.coding) is True
    assert "read_file" in names_in_schema(registry, ToolMode.coding)
    assert "hello" in result.output


def test_all_tools_in_coding_schema(registry: ToolRegistry) -> None:
    assert names_in_schema(registry, ToolMode.coding) == {definition.name for definition in registry.describe()}


def test_override_tightens_modes(registry: ToolRegistry) -> None:
    registry.set_mode_override("current_time", frozenset({ToolMode.coding}))
    assert registry.get_effective_modes("current_time") == frozenset({ToolMode.coding})
    assert registry.check_mode("current_time", ToolMode.chat_safe) is False


def test_override_loosen_raises_value_error(registry: ToolRegistry) -> None:
    with pytest.raises(ValueError, match="only tighten"):
        registry.set_mode_override("read_file", frozenset({ToolMode.chat_safe, ToolMode.coding}))
    assert registry.get_effective_modes("read_file") == frozenset({ToolMode.coding})


def test_override_intersection_logic(registry: ToolRegistry) -> None:
    both = frozenset(ToolMode)
    assert registry.get_effective_modes("current_time") == both
    registry.set_mode_override("current_time", both)
    assert registry.get_effective_modes("current_time") == both
    registry.set_mode_override("current_time", frozenset({ToolMode.chat_safe}))
    assert registry.get_effective_modes("current_time") == frozenset({ToolMode.chat_safe})
    registry.set_mode_override("current_time", frozenset())
    assert registry.get_effective_modes("current_time") == frozenset()


def test_check_mode_unregistered_tool(registry: ToolRegistry) -> None:
    assert registry.check_mode("nonexistent_tool", ToolMode.chat_safe) is False
    assert registry.check_mode("nonexistent_tool", ToolMode.coding) is False


@pytest.mark.parametrize("mode", list(ToolMode))
def test_list_tools_matches_get_tools_schema(registry: ToolRegistry, mode: ToolMode) -> None:
    assert {tool.name for tool in registry.list_tools(mode)} == names_in_schema(registry, mode)


@pytest.mark.parametrize("mode", list(ToolMode))
def test_fail_closed_default_tool_invisible(mode: ToolMode) -> None:
    registry = ToolRegistry()
    registry.register(UndeclaredTool())
    assert (registry.list_tools(mode), registry.get_tools_schema(mode)) == ([], [])


@pytest.mark.parametrize("mode", list(ToolMode))
async def test_fail_closed_default_tool_not_executable(mode: ToolMode) -> None:
    registry = ToolRegistry()
    registry.register(UndeclaredTool())
    before = UndeclaredTool.executions
    result = await registry.toolset(mode, ToolContext()).handle(ToolCall(id="1", name="undeclared", arguments="{}"))
    assert registry.check_mode("undeclared", mode) is False
    assert result.response.error is not None
    assert result.response.error.code == "MODE_DENIED"
    assert UndeclaredTool.executions == before


def test_registration_warning_for_default_modes(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ToolRegistry().register(UndeclaredTool())
    assert [record.getMessage() for record in caplog.records] == [
        "tool_registered_with_default_modes tool_name='undeclared'"
    ]


def test_builtins_all_override_group_and_modes(registry: ToolRegistry) -> None:
    others = {
        "current_time": ToolGroup.world,
        "memory_search": ToolGroup.memory,
        "memory_append": ToolGroup.memory,
    }
    groups = {definition.name: group_and_modes(registry, definition.name)[0] for definition in registry.describe()}
    assert {name: group for name, group in groups.items() if group is not ToolGroup.code} == others
    assert [name for name in groups if "allowed_modes" not in vars(type(registry.get(name)))] == []


def test_builtins_all_have_nonempty_allowed_modes(registry: ToolRegistry) -> None:
    modes = {definition.name: registry.get_effective_modes(definition.name) for definition in registry.describe()}
    assert [name for name, allowed in modes.items() if not allowed] == []
    chat_safe = {name for name, allowed in modes.items() if ToolMode.chat_safe in allowed}
    assert chat_safe == {"current_time", "memory_search", "memory_append", "todo"}


async def executed(registry: ToolRegistry, **settings: Any) -> dict[str, Any]:
    sessions = InMemorySessions()
    loop = AgentLoop(ScriptedModel([]), registry, sessions, **settings)
    answer = await loop._execute_tool("read_file", '{"path": "x"}', mode=ToolMode.chat_safe, call_id="call_1")
    await loop.aclose()
    await sessions.close()
    return answer


async def test_execute_tool_returns_mode_denied_dict(registry: ToolRegistry) -> None:
    """The same dict is what the model reads."""
    document = await executed(registry)
    assert document["ok"] is False
    assert document["error_code"] == "MODE_DENIED"
    assert (document["tool_name"], document["mode"]) == ("read_file", "chat_safe")
    assert document == json.loads((await denied_call(registry)).output)


async def test_mode_denied_dict_fields(registry: ToolRegistry) -> None:
    document = await executed(registry)
    assert set(document) == {"ok", "error_code", "tool_name", "call_id", "mode", "message", "next_action"}
    assert all(document[key] for key in document if key != "ok")
    assert document["call_id"] == "call_1"


async def test_mode_denied_next_action_stage_appropriate(registry: ToolRegistry) -> None:
    action = (await executed(registry))["next_action"]
    assert "not enabled here" in action
    assert [word for word in ("/mode", "set_mode", "--coding", "switch", "button", "RPC") if word in action] == []


async def test_mode_denied_next_action_when_coding_is_enabled(registry: ToolRegistry) -> None:
    settings = Settings.defaults().model_copy(update={"session": SessionSettings(coding_enabled=True)})
    assert (await executed(registry, settings=settings))["next_action"] == "Start a new session in coding mode."


async def test_agent_yields_tool_denied_event(registry: ToolRegistry) -> None:
    sessions = InMemorySessions()
    session = await sessions.create()
    model = ScriptedModel([[ToolCall(id="call_1", name="read_file", arguments='{"path": "x"}')], "Then not."])
    loop = AgentLoop(model, registry, sessions)
    events = [event async for event in loop.handle_message(session.id, "Read x")]
    assert [type(event) for event in events] == [ToolCallInfo, ToolDenied, TextChunk, TurnDone]
    assert events[1] == ToolDenied(**json.loads((await sessions.messages(session.id))[2].content, object_hook=_no_ok))
    await loop.aclose()
    await sessions.close()


def _no_ok(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "ok"}


@pytest.mark.parametrize("mode", list(ToolMode))
def test_prompt_tooling_matches_schema(registry: ToolRegistry, mode: ToolMode) -> None:
    layer = PromptBuilder(registry)._layer_tooling(mode)
    listed = {line.removeprefix("- ") for line in layer.splitlines() if line.startswith("- ")}
    assert listed == {tool.name for tool in registry.list_tools(mode)} == names_in_schema(registry, mode)
    hidden = {definition.name for definition in registry.describe()} - listed
    assert [name for name in hidden if name in layer] == []


def test_safety_layer_mentions_mode(registry: ToolRegistry) -> None:
    layers = {mode: PromptBuilder(registry)._layer_safety(mode) for mode in ToolMode}
    assert all(f"mode {mode.value}" in layer and "restricted" in layer for mode, layer in layers.items())
    assert "denied" in layers[ToolMode.chat_safe]


async def test_tool_denied_event_fields_complete(registry: ToolRegistry) -> None:
    result = await denied_call(registry)
    denied = ToolDenied.model_validate(result.response.data)
    assert set(denied.model_dump()) == {"tool_name", "call_id", "mode", "error_code", "message", "next_action"}
    assert all(isinstance(value, str) and value for value in denied.model_dump().values())


async def test_tool_denied_deterministic(registry: ToolRegistry) -> None:
    outputs = {(await denied_call(registry)).output for _ in range(5)}
    assert len(outputs) == 1


async def test_no_false_warning_on_normal_execution(registry: ToolRegistry, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        toolset = registry.toolset(ToolMode.chat_safe, ToolContext())
        result = await toolset.handle(ToolCall(id="1", name="current_time", arguments="{}"))
    assert not result.is_error
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def mode_with(tmp_path: Path, sql: str) -> tuple[ToolMode, str]:
    """The mode of a session after someone was in the database by hand, and the session's id."""
    db = Database(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")
    await db.migrate()
    manager = SessionManager(db, SessionSettings())
    session = await manager.create()
    with contextlib.closing(sqlite3.connect(tmp_path / "sessions.db")) as connection:
        connection.execute(sql)
        connection.commit()
    mode = await manager.get_mode(session.id)
    await db.close()
    return mode, session.id


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


async def test_get_mode_coding_downgrades_in_m15(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mode, session_id = await mode_with(tmp_path, "UPDATE sessions SET mode = 'coding'")
    (warning,) = warnings_of(caplog)
    assert mode is ToolMode.chat_safe
    assert warning.startswith("mode_downgraded ")
    assert f"session_id={session_id!r}" in warning
    assert "value='coding'" in warning
    assert "M1.5 only supports chat_safe" in warning


@pytest.mark.parametrize("stored", ["'nonexistent_mode'", "'admin'", "NULL", "''"])
async def test_get_mode_invalid_value_fallback(tmp_path: Path, stored: str, caplog: pytest.LogCaptureFixture) -> None:
    mode, session_id = await mode_with(tmp_path, f"UPDATE sessions SET mode = {stored}")
    (warning,) = warnings_of(caplog)
    assert mode is ToolMode.chat_safe
    assert warning.startswith("invalid_mode_value ")
    assert f"session_id={session_id!r}" in warning
    assert f"value={'None' if stored == 'NULL' else stored}" in warning


async def test_get_mode_db_error_fallback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mode, session_id = await mode_with(tmp_path, "DROP TABLE sessions")
    (warning,) = warnings_of(caplog)
    assert mode is ToolMode.chat_safe
    assert warning.startswith("mode_read_error ")
    assert f"session_id={session_id!r}" in warning
    assert "error='StoreError'" in warning


async def test_default_mode_from_config() -> None:
    settings = SessionSettings()
    sessions = InMemorySessions(settings)
    session = await sessions.create()

    assert settings.default_mode == "chat_safe"
    assert (session.mode, await sessions.get_mode(session.id)) == (settings.default_mode, settings.default_mode)
    await sessions.close()
