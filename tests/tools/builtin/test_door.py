"""The door of the built-in tools: every class of the contract is found there, and is what the registry holds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import toolgate
from toolgate.settings import Settings
from toolgate.tools import builtin
from toolgate.tools.declaration import declaration_of
from toolgate.tools.lazy_tool import declaration_to_json
from toolgate.tools.schema import parameters_schema


def test_every_class_comes_through_the_door() -> None:
    held = {
        type(toolgate.builtin_registry().get(definition.name)) for definition in toolgate.builtin_registry().describe()
    }

    assert held == {getattr(builtin, name) for name in builtin._MODULES}
    assert {name for name in builtin.__all__ if name.endswith("Tool")} <= {
        *builtin._MODULES,
        *builtin._OPTIONAL_MODULES,
    }


def test_optional_tools_come_through_the_door_if_settings_turn_them_on() -> None:
    settings = Settings.of(web={"fetch": True, "search": "searxng", "search_url": "http://127.0.0.1:8888"})
    held = {type(tool) for tool in builtin.optional_tools(settings)}
    assert held == {getattr(builtin, name) for name in builtin._OPTIONAL_MODULES}
    assert builtin.optional_tools(Settings.defaults()) == []


def test_the_stored_declarations_are_what_the_tools_declare() -> None:
    stored = json.loads(Path(builtin.__file__).with_name("declarations.json").read_bytes())
    tools = [*builtin.builtin_tools(), *builtin.agent_tools()]

    assert json.dumps(stored) == json.dumps(
        {type(tool).__name__: declaration_to_json(declaration_of(tool)) for tool in tools}
    ), "run: python scripts/tool_declarations.py"
    assert [stored[type(tool).__name__]["parameters"] for tool in tools] == [
        parameters_schema(tool.Params) for tool in tools
    ]


def test_a_new_tool_without_a_stored_declaration_names_the_script_that_writes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(builtin._MODULES, "NewTool", "todo")
    with pytest.raises(LookupError, match=r"no 'NewTool': run python scripts/tool_declarations\.py"):
        builtin.lazy_tools()


def test_every_lazy_tool_is_the_one_that_its_module_declares() -> None:
    for tool in (*builtin.lazy_tools(), *builtin.lazy_agent_tools()):
        made, declared = tool.load()
        assert (made.name, declared.definition) == (tool.declaration.name, tool.declaration.definition)


def test_a_registry_of_the_built_in_tools_imports_none_of_them() -> None:
    code = (
        "import sys; from toolgate.runtime.builtin import agent_registry; agent_registry(); "
        "print([name for name in sys.modules if name.startswith('toolgate.tools.builtin.')])"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_registry_is_not_made_if_the_module_of_a_tool_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin._MODULES, "TodoTool", "not_installed")

    with pytest.raises(ModuleNotFoundError, match="not_installed"):
        toolgate.builtin_registry()


def test_nobody_changes_the_parameters_of_another_registry() -> None:
    first, second = toolgate.builtin_registry().get("ls"), toolgate.builtin_registry().get("ls")

    assert first is not None
    assert second is not None
    first.parameters.clear()
    assert second.parameters


def test_every_tool_tells_the_model_what_it_does() -> None:
    assert [tool.name for tool in builtin.builtin_tools() if len(tool.description.strip()) < 20] == []
