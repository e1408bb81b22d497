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
    """The built-in tools, and those of an agent that a person talks to.

    `propose_plan` ends plan mode, `ask_user` asks the person, `skill` reads skills, and `load_tools` offers the schemas
    of deferred tools.
    """
    from toolgate.tools.builtin.ask_user import AskUserTool
    from toolgate.tools.builtin.load_tools import LoadToolsTool
    from toolgate.tools.builtin.propose_plan import ProposePlanTool
    from toolgate.tools.builtin.skill import SkillTool

    registry = builtin_registry()
    for tool in (ProposePlanTool(), AskUserTool(), SkillTool(), LoadToolsTool()):
        registry.register(tool)
    return registry
