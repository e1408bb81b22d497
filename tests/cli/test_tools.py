"""`toolgate tools`: the matrix is what the registry says."""

import json

from tests.cli.conftest import Toolgate
from toolgate import ToolMode, builtin_registry


def test_the_matrix_is_the_registry(toolgate: Toolgate) -> None:
    registry = builtin_registry()

    code, out, err = toolgate("tools")

    head, *rows = [line.split() for line in out.splitlines()]
    assert (code, err, head[:5]) == (0, "", ["TOOL", "GROUP", "chat_safe", "coding", "ASKS"])
    assert {row[0]: (row[2] == "yes", row[3] == "yes") for row in rows} == {
        name: (registry.check_mode(name, ToolMode.chat_safe), registry.check_mode(name, ToolMode.coding))
        for name in registry.names()
    }


def test_one_mode_shows_its_tools_only(toolgate: Toolgate) -> None:
    out = toolgate("tools", "--mode", "chat_safe").out

    names = [line.split()[0] for line in out.splitlines()[1:]]
    assert sorted(names) == sorted(tool.name for tool in builtin_registry().list_tools(ToolMode.chat_safe))


def test_json_is_the_schema_that_a_model_gets(toolgate: Toolgate) -> None:
    out = toolgate("tools", "--mode", "coding", "--json").out

    by_name = {entry["function"]["name"]: entry for entry in json.loads(out)}
    assert by_name == {
        entry["function"]["name"]: entry for entry in builtin_registry().get_tools_schema(ToolMode.coding)
    }
