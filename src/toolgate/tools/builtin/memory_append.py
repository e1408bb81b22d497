"""`memory_append`: keep a note for later sessions."""

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.ports import MemoryStore
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text


def require_memory(context: ToolContext) -> MemoryStore:
    """The store, or the failure of every tool that needs one."""
    if context.memory is None:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR, "This session has no memory.", "Continue without it; nothing was kept or found."
        )
    return context.memory


class MemoryAppendParams(BaseModel):
    """What to keep."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    content: str = Field(min_length=1, max_length=20_000, description="The note, in a sentence or two.")


class MemoryAppendTool(Tool[MemoryAppendParams]):
    """Keeps a note."""

    name = "memory_append"
    description = load_text(__file__)
    Params = MemoryAppendParams
    group = ToolGroup.memory
    allowed_modes = frozenset({ToolMode.chat_safe, ToolMode.coding})
    needs = ("memory",)

    async def execute(self, params: MemoryAppendParams, context: ToolContext) -> ToolResponse:
        """Keep it, then say so."""
        if not params.content.strip():
            raise ToolError(ErrorCode.INVALID_PARAM, "The note is blank.", "Write what should be remembered.")
        await require_memory(context).append(params.content)
        return ToolResponse.success({"applied": True}, "The note was kept; memory_search finds it.")
