"""Describes tools for `tools/list`."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.modes import ToolGroup
from toolgate.tools.declaration import Declaration


def tool_entry(tool: Declaration) -> dict[str, Any]:
    """Return a tool's entry in `tools/list`."""
    definition = tool.definition
    return {
        "name": definition.name,
        "description": definition.description,
        "inputSchema": definition.parameters,
        "annotations": tool_annotations(tool),
    }


def tool_annotations(tool: Declaration) -> dict[str, bool]:
    """Return MCP's annotations, derived from the tool's flags.

    A tool that is not read-only is destructive if it needs permission, or if it is a code tool that is not idempotent.
    A tool of the world group is open-world, and so is a code tool whose reach is unknown.
    """
    runs_any_code = tool.group is ToolGroup.code and not tool.idempotent
    destructive = not tool.read_only and (tool.requires_permission or runs_any_code)
    return {
        "readOnlyHint": tool.read_only,
        "destructiveHint": destructive,
        "idempotentHint": tool.idempotent or tool.read_only,
        "openWorldHint": tool.group is ToolGroup.world or (destructive and not tool.requires_permission),
    }
