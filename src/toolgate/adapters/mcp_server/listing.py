"""Tools as an MCP client is told about them."""

from __future__ import annotations

import functools
from typing import Any

from toolgate.protocol.modes import ToolGroup
from toolgate.protocol.schema import envelope_schema
from toolgate.tools.declaration import Declaration


def described(tool: Declaration) -> dict[str, Any]:
    """A tool's entry in `tools/list`."""
    definition = tool.definition
    return {
        "name": definition.name,
        "description": definition.description,
        "inputSchema": definition.parameters,
        "outputSchema": _envelope(),
        "annotations": hints(tool),
    }


def hints(tool: Declaration) -> dict[str, bool]:
    """The hints that MCP knows, from the tool's own flags.

    What is not read-only is destructive if it needs permission, or if it is code that does not say that it may be
    repeated. The world is open to what belongs to it and to code of which nobody knows what it reaches.
    """
    free = tool.group is ToolGroup.code and not tool.idempotent
    destructive = not tool.read_only and (tool.requires_permission or free)
    return {
        "readOnlyHint": tool.read_only,
        "destructiveHint": destructive,
        "idempotentHint": tool.idempotent or tool.read_only,
        "openWorldHint": tool.group is ToolGroup.world or (destructive and not tool.requires_permission),
    }


@functools.cache
def _envelope() -> dict[str, Any]:
    """The envelope's schema; some clients refuse a schema that accepts everything, which the arguments' would."""
    schema = envelope_schema()
    schema["properties"]["context"]["properties"]["params_input"] = {"anyOf": [{"type": "object"}, {"type": "string"}]}
    return schema
