"""All the tools that come with Toolgate, in one registry."""

from toolgate.runtime.registry import ToolRegistry
from toolgate.tools.builtin import builtin_tools


def builtin_registry() -> ToolRegistry:
    """A new registry with every built-in tool."""
    registry = ToolRegistry()
    for tool in builtin_tools():
        registry.register(tool)
    return registry


def agent_registry() -> ToolRegistry:
    """The built-in tools, and those of an agent: `propose_plan`, which ends plan mode, and `load_tools`."""
    from toolgate.tools.builtin.load_tools import LoadToolsTool
    from toolgate.tools.builtin.propose_plan import ProposePlanTool

    registry = builtin_registry()
    registry.register(ProposePlanTool())
    registry.register(LoadToolsTool())
    return registry
