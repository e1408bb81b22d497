"""Adapter for LangChain: turns a toolset into a list of LangChain tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from toolgate.adapters.pictures import text_with_note
from toolgate.adapters.users_policy import under_users_policy
from toolgate.extras import optional_imports
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode

with optional_imports():
    from langchain_core.messages import ToolMessage
    from langchain_core.messages.content import create_image_block, create_text_block
    from langchain_core.tools import BaseTool

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset


def langchain_tools(toolset: CallableToolset, *, pictures: bool = True) -> list[BaseTool]:
    """`async with toolgate.open(root, mode) as toolset: create_agent(model, tools=langchain_tools(toolset))`.

    Every call passes the gates and asks the context's approver. A failed call becomes a tool message with status
    `error`, which the model reads; it never raises an exception that ends the run. The envelope is the message's
    `artifact`. A picture of a result is an image block of the message; for a model that takes none,
    `pictures=False` names it in the text. The tools are asynchronous: use `ainvoke` and `astream`.
    """
    toolset = under_users_policy(toolset)
    return [_tool(toolset, definition, pictures) for definition in toolset.tools]


def _tool(toolset: CallableToolset, definition: ToolDefinition, pictures: bool) -> BaseTool:
    schema = {"type": "object", "properties": {}, **definition.parameters}
    tool = _ToolgateTool(name=definition.name, description=definition.description, args_schema=schema)
    tool._toolset = toolset  # noqa: SLF001 - the class belongs to this module
    tool._pictures = pictures  # noqa: SLF001
    return tool


class _ToolgateTool(BaseTool):
    """One tool. It takes its arguments as one object, so that their names cannot clash with LangChain's."""

    response_format: str = "content_and_artifact"  # type: ignore[assignment]  # LangChain narrows it to a literal
    _toolset: Any = PrivateAttr()
    _pictures: bool = PrivateAttr(default=True)

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input, tool_call_id), {}

    async def _arun(self, tool_input: str | dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        arguments = tool_input if isinstance(tool_input, str) else encode(tool_input)
        call = ToolCall(id=tool_call_id or uuid7(), name=self.name, arguments=arguments)
        result = await self._toolset.handle(call)
        return self._answer(self._content(result), result.response.to_dict(), tool_call_id, failed=result.is_error)

    def _run(self, tool_input: str | dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        message = f"{self.name} was not run: it is asynchronous, but was called with invoke. Use ainvoke."
        return self._answer(message, None, tool_call_id, failed=True)

    def _content(self, result: ToolResult) -> Any:
        """Return what the model reads and sees, in LangChain's own blocks if there are pictures."""
        if not self._pictures or not result.content:
            return text_with_note(result)
        text_blocks = [create_text_block(result.output)] if result.output else []
        image_blocks = [create_image_block(base64=image.base64, mime_type=image.media_type) for image in result.content]
        return [*text_blocks, *image_blocks]

    def _answer(self, content: Any, envelope: Any, call_id: str | None, *, failed: bool) -> tuple[Any, Any]:
        """Return the content and the artifact. An error is a whole message, because only a message has a status."""
        if not failed or call_id is None:
            return content, envelope
        message = ToolMessage(content, artifact=envelope, tool_call_id=call_id, name=self.name, status="error")
        return message, envelope
