"""`load_tools`: makes deferred tools callable, whose schemas the first request leaves out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.names import LOAD_TOOL
from toolgate.tools.text import load_text


class LoadToolsParams(BaseModel):
    """Which tools."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    names: list[str] = Field(min_length=1, max_length=50, description="Names from the on-demand list.")


class LoadToolsTool(Tool[LoadToolsParams]):
    """Notes which tools the model wants; the agent then offers their schemas. It allows nothing."""

    name = LOAD_TOOL
    description = load_text(__file__)
    Params = LoadToolsParams
    group = ToolGroup.world
    allowed_modes = frozenset(ToolMode)
    approval_modes = frozenset(ApprovalMode)
    read_only = True
    needs = ("loaded_tools",)

    async def prepare(self, params: LoadToolsParams, context: ToolContext) -> None:
        """Only tools that this session may use can be loaded."""
        names = [] if context.visible_tools is None else [tool.name for tool in context.visible_tools()]
        unknown = [name for name in params.names if name not in names]
        if unknown:
            raise ToolError(
                ErrorCode.NOT_FOUND,
                f"There is no tool {', '.join(map(repr, unknown))} in this session; nothing was loaded.",
                "Use the names of the on-demand list.",
            )

    async def execute(self, params: LoadToolsParams, context: ToolContext) -> ToolResponse:
        """Note the names."""
        names = list(dict.fromkeys(params.names))
        if context.loaded_tools is not None:
            context.loaded_tools.update(names)
        return ToolResponse.success({"tools": names}, f"You can call now: {', '.join(names)}.")

    def render(self, response: ToolResponse) -> str:
        """The text says everything."""
        return response.text
