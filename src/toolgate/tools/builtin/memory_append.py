"""`memory_append`: keep a note for later sessions."""

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.ports import MemoryStore
from toolgate.text.redaction import mask, secrets_of
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
        memory = require_memory(context)
        _require_no_secret(params.content, context)
        await memory.append(params.content)
        return ToolResponse.success({"applied": True}, "The note was kept; memory_search finds it.")


def _require_no_secret(content: str, context: ToolContext) -> None:
    """Refuse a note with a credential: every later session would read it."""
    from toolgate.workspace.secret_files import secret_text

    own = mask(content, secrets_of(context.settings)) != content
    if found := "one of Toolgate's own keys" if own else secret_text(content):
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"The note holds {found}, and notes are read in later sessions. Nothing was kept.",
            "Write where it is kept (a file, a variable) instead of the value.",
        )
