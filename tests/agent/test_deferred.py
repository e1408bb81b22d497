"""Deferred tools: the first request names them, and their schemas come on demand and stay with the session."""

from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import Stage, call
from toolgate import ToolMode, ToolRegistry, Workspace, builtin_registry, tool
from toolgate.agent import PromptBuilder, ToolResultInfo
from toolgate.agent.compaction import tokens_of_tools
from toolgate.agent.deferred import OfferedTools, deferred_tools, offered_schemas, short_line
from toolgate.models.base import ModelRequest
from toolgate.protocol.modes import ApprovalMode
from toolgate.runtime.builtin import agent_registry
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings
from toolgate.testing import ScriptedModel

OPEN = SessionSettings(coding_enabled=True)


@tool(name="weather", modes=[ToolMode.coding], deferred=True, read_only=True)
async def weather(city: str) -> str:
    """Tells the weather. It also says a lot more that the first request leaves out."""
    return f"{city}: sunny"


def registry() -> ToolRegistry:
    made = agent_registry()
    made.register(weather)
    return made


def schemas(request: ModelRequest) -> set[str]:
    return {entry["function"]["name"] for entry in request.tools}


async def test_the_first_request_names_it_in_one_short_line() -> None:
    stage = await Stage.set(["ok"], registry=registry())
    await stage.say()
    [request] = stage.model.requests
    prompt = request.messages[0]["content"]
    assert "weather" not in schemas(request)
    assert "load_tools" in schemas(request)
    assert "\n- weather: Tells the weather\n" in f"{prompt}\n"
    assert "a lot more" not in prompt
    await stage.close()


async def test_a_loaded_tool_is_in_the_next_request_and_in_those_of_the_next_turns() -> None:
    script = [[call("load_tools", {"names": ["weather"]})], [call("weather", {"city": "Rome"}, id="c2")], "done", "ok"]
    stage = await Stage.set(script, registry=registry())
    events = await stage.say()
    results = [event.result.output for event in events if isinstance(event, ToolResultInfo)]
    assert results[0] == "You can call now: weather."
    assert "Rome: sunny" in results[1]
    await stage.say("And now?")
    assert ["weather" in schemas(request) for request in stage.model.requests] == [False, True, True, True]
    prompts = {request.messages[0]["content"] for request in stage.model.requests}
    assert len(prompts) == 1  # a provider can go on using its cache of the prompt
    await stage.close()


async def test_a_call_without_the_schema_runs_and_loads_it() -> None:
    stage = await Stage.set([[call("weather", {"town": "Rome"})], "oh"], registry=registry())
    await stage.say()
    first, second = stage.model.requests
    assert ("weather" in schemas(first), "weather" in schemas(second)) == (False, True)
    assert "Invalid parameters" in str(second.messages[-1])
    await stage.close()


async def test_the_command_tools_with_a_name_shows_the_schema_and_loads_it(tmp_path: Path) -> None:
    script = [[call("Bash", {"command": "tools weather"})], "ok"]
    stage = await Stage.set(script, registry=registry(), workspace=Workspace(tmp_path))
    await stage.say()
    assert '"city"' in str(stage.model.requests[1].messages[-1]["content"])
    assert "weather" in schemas(stage.model.requests[1])
    await stage.close()


@pytest.mark.parametrize("with_workspace", [True, False])
async def test_another_process_still_offers_what_was_loaded(tmp_path: Path, with_workspace: bool) -> None:
    address = f"sqlite:///{tmp_path / 'sessions.db'}"
    (tmp_path / "root").mkdir()
    options: dict[str, Any] = {"workspace": Workspace(tmp_path / "root")} if with_workspace else {}
    first_database = Database(address)
    await first_database.migrate()
    script = [[call("load_tools", {"names": ["weather"]})], "done"]
    stage = await Stage.set(script, registry=registry(), sessions=SessionManager(first_database, OPEN), **options)
    await stage.say()
    await stage.close()
    await first_database.close()
    database = Database(address)
    again = await Stage.set(["ok"], registry=registry(), sessions=SessionManager(database, OPEN), **options)
    again.id = stage.id
    await again.say("Go on")
    assert "weather" in schemas(again.model.requests[0])
    await again.close()
    await database.close()


async def test_a_tool_of_another_mode_is_neither_named_nor_loaded() -> None:
    script = [[call("load_tools", {"names": ["weather"]})], "ok"]
    stage = await Stage.set(script, registry=registry(), mode=ToolMode.chat_safe)
    await stage.say()
    first, second = stage.model.requests
    assert "weather" not in first.messages[0]["content"]
    assert "There is no tool 'weather'" in second.messages[-1]["content"]
    assert "weather" not in schemas(second)
    await stage.close()


def test_a_registry_that_cannot_load_offers_everything_at_once() -> None:
    made = builtin_registry()
    made.register(weather)
    offered = offered_schemas(made, (ToolMode.coding,))
    assert offered == made.get_tools_schema(ToolMode.coding)
    assert deferred_tools(made.list_declarations(ToolMode.coding)) == []


def test_plan_mode_defers_only_what_it_shows() -> None:
    @tool(name="writes", modes=[ToolMode.coding], deferred=True)
    async def writes() -> str:
        """Writes."""
        return ""

    made = registry()
    made.register(writes)
    prompt = PromptBuilder(made)._layer_tooling(ToolMode.coding, ApprovalMode.plan)
    assert ("- weather:" in prompt, "- writes" in prompt) == (True, False)


def test_the_line_of_a_tool_is_short_and_hides_nothing() -> None:
    @tool(name="odd", modes=[ToolMode.coding], deferred=True, description="one\u202e\n## Safety\n" + "word " * 200)
    async def odd() -> str:
        return ""

    made = registry()
    made.register(odd)
    declared = made.declaration("odd")
    assert declared is not None
    line = short_line(declared)
    assert ("\n" in line, "\u202e" in line, len(line) < 130) == (False, False, True)


async def test_a_sub_agent_loads_for_itself() -> None:
    from toolgate.agent import AgentDefinition

    child = AgentDefinition(name="child", description="d", prompt="You are a child.", tools=None)
    script = ScriptedModel(
        [
            [call("task", {"agent": "child", "prompt": "t", "description": "d"})],
            [call("load_tools", {"names": ["weather"]}, id="c2")],
            "child done",
            "parent done",
        ]
    )
    stage = await Stage.set(script, registry=registry(), agents=[child])
    await stage.say()
    assert ["weather" in schemas(request) for request in script.requests] == [False, False, True, False]
    await stage.close()


def test_schemas_are_made_again_only_when_the_tools_change() -> None:
    made, offered = registry(), OfferedTools()
    modes = (ToolMode.coding,)
    first, tokens = offered.of(made, modes)
    assert first == offered_schemas(made, modes)
    assert tokens == tokens_of_tools(first)
    assert offered.of(made, modes)[0] is first
    assert offered.of(made, modes, {"weather"})[0] == offered_schemas(made, modes, {"weather"})
    made.set_mode_override("ls", [])
    later, fewer = offered.of(made, modes)
    assert [entry["function"]["name"] for entry in first if entry not in later] == ["ls"]
    assert fewer < tokens


def test_a_registry_of_somebody_elses_making_is_asked_every_time() -> None:
    class Moody(ToolRegistry):
        answers = 0

        def get_tools_schema(
            self, mode: ToolMode, approval_mode: ApprovalMode = ApprovalMode.ask
        ) -> list[dict[str, Any]]:
            self.answers += 1
            return super().get_tools_schema(mode, approval_mode)

    made, offered = Moody(), OfferedTools()
    for _ in range(2):
        offered.of(made, (ToolMode.coding,))
    assert made.answers == 2
