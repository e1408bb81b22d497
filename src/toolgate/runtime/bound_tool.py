"""A native tool as a `CallableTool`, still behind every gate of its context."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

from toolgate.protocol.calls import ToolCall, ToolDefinition
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.ids import uuid7
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.toolset import CallableToolset
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext


class BoundTool:
    """What `Tool.bind` returns: called with parsed arguments, it answers with the envelope."""

    def __init__(self, tool: Tool[Any], context: ToolContext) -> None:
        self._toolset = CallableToolset([tool], context)
        self.tool_definition: ToolDefinition = self._toolset.registry.describe()[0]

    def __call__(self, arguments: dict[str, Any]) -> BoundCall:
        """Call the tool through the pipeline."""
        call = ToolCall(id=uuid7(), name=self.tool_definition.name, arguments=_to_json(arguments))
        return BoundCall(self._toolset.handle(call))


def _to_json(arguments: dict[str, Any]) -> str:
    """Return the arguments as a model would write them. The pipeline refuses what JSON cannot express."""
    try:
        return json.dumps(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        return f"not JSON: {error}"


class BoundCall:
    """A running call of a bound tool."""

    def __init__(self, pending: PendingResult) -> None:
        self._pending = pending

    def cancel(self) -> None:
        """Cancel the call."""
        self._pending.cancel()

    def __await__(self) -> Generator[Any, None, ToolResponse]:
        """Wait for the envelope."""
        result = yield from self._pending.__await__()
        return result.response
