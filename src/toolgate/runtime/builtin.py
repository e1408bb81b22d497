"""All the tools that come with Toolgate, in one registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.runtime.registry import ToolRegistry
from toolgate.tools.builtin import lazy_agent_tools, lazy_tools, optional_tools

if TYPE_CHECKING:
    from toolgate.settings import Settings


def builtin_registry(settings: Settings | None = None) -> ToolRegistry:
    """A new registry with every built-in tool, and with those that `settings` turn on."""
    registry = ToolRegistry()
    for tool in lazy_tools():
        registry.add_lazy(tool)
    for optional in () if settings is None else optional_tools(settings):
        registry.register(optional)
    return registry


def agent_registry(settings: Settings | None = None) -> ToolRegistry:
    """The built-in tools, and those of an agent that a person talks to.

    `propose_plan` ends plan mode, `ask_user` asks the person, `skill` reads skills, and `load_tools` offers the schemas
    of deferred tools.
    """
    registry = builtin_registry(settings)
    for tool in lazy_agent_tools():
        registry.add_lazy(tool)
    return registry
