"""The registry of built-in tools."""

from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import builtin_registry
from toolgate.tools.builtin import builtin_tools


def test_every_built_in_tool_is_registered_and_each_registry_is_its_own() -> None:
    one, other = builtin_registry(), builtin_registry()
    names = {tool.name for tool in builtin_tools()}

    one.unregister("grep")

    assert {tool.name for tool in other.list_tools(ToolMode.coding)} == names
    assert "grep" not in {tool.name for tool in one.list_tools(ToolMode.coding)}
