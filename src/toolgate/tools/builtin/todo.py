"""`todo`: the session's to-do list."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.text import counted, load_text

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class TodoItem(BaseModel):
    """One piece of work."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    content: str = Field(min_length=1, max_length=2_000, description="What is to be done.")
    status: Literal["pending", "in_progress", "completed"] = Field(description="How far it is.")


class TodoParams(BaseModel):
    """The whole list as it should be."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    items: list[TodoItem] = Field(max_length=200, description="The whole list; it replaces the one before.")


class TodoTool(Tool[TodoParams]):
    """Replaces the list."""

    name = "todo"
    description = load_text(__file__)
    Params = TodoParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.chat_safe, ToolMode.coding})
    idempotent = True

    async def execute(self, params: TodoParams, context: ToolContext) -> ToolResponse:
        """Store the list and show it; without a store it lives as long as the session."""
        items = [{"content": item.content, "status": item.status} for item in params.items]
        for number, item in enumerate(items, 1):
            if not item["content"].strip():
                raise ToolError(ErrorCode.INVALID_PARAM, f"Item {number} is blank.", "Say what is to be done.")
        active = [item["content"] for item in items if item["status"] == "in_progress"]
        if len(active) > 1:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"{len(active)} items are in_progress; at most one may be.",
                "Set all but one of them to 'pending' or 'completed'.",
            )
        if context.todos is not None:
            await context.todos.replace(items)
        else:
            context.state.todos = items
        done = sum(item["status"] == "completed" for item in items)
        text = f"The list has {counted(len(items), 'item')}, {done} completed."
        return ToolResponse.success({"items": items}, text if not active else f"{text} In progress: {active[0]}.")

    def render(self, response: ToolResponse) -> str:
        """The list as a person would write it."""
        lines = [f"{_MARKS[item['status']]} {item['content']}" for item in response.data.get("items", [])]
        return "\n".join([response.text, *lines])
