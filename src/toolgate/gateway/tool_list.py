"""The response of `tools.list`: every tool with its modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.protocol.modes import ToolMode
from toolgate.tools.declaration import asks_when

if TYPE_CHECKING:
    from toolgate.runtime.registry import ToolRegistry


def _asks_when(registry: ToolRegistry, name: str) -> str:
    tool, declared = registry.get(name), registry.declaration(name)
    return "always" if tool is None or declared is None else asks_when(tool, declared)


def tool_list(registry: ToolRegistry, model: str, *, coding_enabled: bool) -> dict[str, Any]:
    """Return all tools, the model's name, and which modes new sessions may have."""
    found = [(name, registry.declaration(name)) for name in registry.names()]
    return {
        "tools": [
            {
                "name": tool.definition.name,
                "description": tool.definition.description,
                "parameters": tool.definition.parameters,
                "group": tool.group.value,
                "modes": sorted(
                    {
                        mode.value
                        for approval_mode in tool.approval_modes
                        for mode in registry.get_effective_modes(name, approval_mode)
                    }
                ),
                "approval_modes": sorted(approval_mode.value for approval_mode in tool.approval_modes),
                "asks": when != "never",
                "asks_when": when,
            }
            for name, tool in found
            if tool is not None and (when := _asks_when(registry, name))
        ],
        "model": model,
        "modes": [mode.value for mode in ToolMode],
        "enabled_modes": [mode.value for mode in ToolMode if coding_enabled or mode is ToolMode.chat_safe],
    }
