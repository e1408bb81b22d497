"""`memory_search`: find notes that were kept earlier."""

from pydantic import BaseModel, ConfigDict, Field

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.tools.base import Tool
from toolgate.tools.builtin.memory_append import require_memory
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text


class MemorySearchParams(BaseModel):
    """What to look for."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    query: str = Field(min_length=1, description="Words to look for.")
    limit: int = Field(10, ge=1, le=100, description="How many notes to return at the most.")


class MemorySearchTool(Tool[MemorySearchParams]):
    """Searches the notes."""

    name = "memory_search"
    description = load_text(__file__)
    Params = MemorySearchParams
    group = ToolGroup.memory
    allowed_modes = frozenset({ToolMode.chat_safe, ToolMode.coding})
    read_only = True
    idempotent = True
    needs = ("memory",)

    async def execute(self, params: MemorySearchParams, context: ToolContext) -> ToolResponse:
        """The best notes first; one more than asked for is fetched to know whether there are more."""
        found = await require_memory(context).search(params.query, params.limit + 1)
        matches = found[: params.limit]
        plural = "note" if len(matches) == 1 else "notes"
        if len(found) > params.limit:
            return ToolResponse.partial(
                {"matches": matches, "truncated": True},
                f"Found {len(matches)} {plural} for {params.query!r} (there are more). "
                "Use more specific words, or increase 'limit'.",
            )
        text = f"Found {len(matches)} {plural} for {params.query!r}."
        return ToolResponse.success(
            {"matches": matches, "truncated": False}, text if matches else f"{text} Try other words."
        )
