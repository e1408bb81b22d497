"""The door of the built-in tools: every class of the contract is found there, and is what the registry holds."""

import json
from pathlib import Path

import toolgate
from toolgate.settings import Settings
from toolgate.tools import builtin
from toolgate.tools.schema import parameters_schema


def test_every_class_comes_through_the_door() -> None:
    held = {
        type(toolgate.builtin_registry().get(definition.name)) for definition in toolgate.builtin_registry().describe()
    }

    assert held == {getattr(builtin, name) for name in builtin._WHERE}
    assert {name for name in builtin.__all__ if name.endswith("Tool")} <= {*builtin._WHERE, *builtin._OPTIONAL}


def test_optional_tools_come_through_the_door_if_settings_turn_them_on() -> None:
    settings = Settings.of(web={"fetch": True, "search": "searxng", "search_url": "http://127.0.0.1:8888"})
    held = {type(tool) for tool in builtin.optional_tools(settings)}
    assert held == {getattr(builtin, name) for name in builtin._OPTIONAL}
    assert builtin.optional_tools(Settings.defaults()) == []


def test_what_was_written_down_about_parameters_is_what_they_are() -> None:
    written = json.loads(Path(builtin.__file__).with_name("parameters.json").read_bytes())
    tools = [*builtin.builtin_tools(), *builtin.agent_tools()]

    assert written == {tool.name: parameters_schema(tool.Params) for tool in tools}, (
        "run: python scripts/tool_parameters.py"
    )
    assert [json.dumps(tool.parameters) for tool in tools] == [
        json.dumps(parameters_schema(tool.Params)) for tool in tools
    ]


def test_nobody_changes_the_parameters_of_another_registry() -> None:
    first, second = toolgate.builtin_registry().get("ls"), toolgate.builtin_registry().get("ls")

    assert first is not None
    assert second is not None
    first.parameters.clear()
    assert second.parameters


def test_every_tool_tells_the_model_what_it_does() -> None:
    assert [tool.name for tool in builtin.builtin_tools() if len(tool.description.strip()) < 20] == []
