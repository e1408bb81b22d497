"""What the pipeline knows about one call, and what it knows about a tool."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.calls import ToolCall
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.plan import Plan
from toolgate.protocol.record import Decision, Gate
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.foreign import ForeignTool
from toolgate.tools.render import render_response


class Entry:
    """A tool with what is looked up on every call, looked up once."""

    __slots__ = (
        "asks",
        "example",
        "foreign",
        "keys",
        "plain_render",
        "prepares",
        "tool",
        "ungated",
        "validate",
        "writes",
    )

    def __init__(self, tool: Tool[Any]) -> None:
        kind = type(tool)
        self.tool = tool
        self.foreign = tool if isinstance(tool, ForeignTool) else None
        self.ungated = self.foreign is not None and self.foreign.ungated
        self.prepares = kind.prepare is not Tool.prepare
        self.asks = tool.requires_permission or kind.needs_permission is not Tool.needs_permission
        self.plain_render = kind.render is Tool.render
        self.writes = not tool.read_only and tool.exclusive
        self.example: str | None = None
        """Arguments that fit, once someone needed to see them."""
        self.validate: Any = None
        self.keys: frozenset[str] | None = None
        if self.foreign is None:
            self.validate = tool.Params.__pydantic_validator__.validate_json
            if tool.Params.model_config.get("extra") not in ("allow", "forbid"):
                fields = tool.Params.model_fields
                aliases = {str(field.alias) for field in fields.values() if field.alias}
                self.keys = frozenset(fields) | aliases


class Run:
    """The state of one call on its way through the pipeline."""

    __slots__ = (
        "arguments",
        "call",
        "context",
        "decision",
        "entry",
        "executed",
        "extras",
        "params",
        "plan",
        "refused",
        "started",
    )

    def __init__(self, call: ToolCall, context: ToolContext, started: float) -> None:
        self.call = call
        self.context = context
        self.started = started
        self.entry: Entry | None = None
        self.arguments: Any = call.arguments
        """The parsed object, or the string where it does not parse."""
        self.params: Any = None
        self.plan: Plan | None = None
        self.decision: Decision | None = None
        """The verdict that ended the deciding, for the record."""
        self.refused: tuple[Gate, ToolResponse] | None = None
        """The gate that refused, with its words."""
        self.executed = False
        self.extras: dict[str, Any] = {}

    @property
    def tool(self) -> Tool[Any]:
        """The tool, once it is resolved."""
        assert self.entry is not None
        return self.entry.tool

    def render(self, response: ToolResponse) -> str:
        """What the model reads of this response."""
        if self.entry is None or self.entry.plain_render:
            return render_response(response)
        return self.entry.tool.render(response)
