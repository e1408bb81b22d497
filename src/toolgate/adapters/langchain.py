"""A bridge to LangChain: a toolset of Toolgate as a list of its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from toolgate.adapters.users_policy import under_users_policy
from toolgate.protocol.calls import ToolCall, ToolDefinition
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset


def langchain_tools(toolset: CallableToolset) -> list[BaseTool]:
    """`async with toolgate.open(root, mode) as toolset: create_agent(model, tools=langchain_tools(toolset))`.

    Every call goes through the gates, and its approval through the context's approver. A failed call is a tool message
    with status `error` that the model reads, never an exception that ends the run. The envelope is the message's
    `artifact`. The tools are asynchronous: use `ainvoke` and `astream`.
    """
    toolset = under_users_policy(toolset)
    return [_tool(toolset, definition) for definition in toolset.tools]


def _tool(toolset: CallableToolset, definition: ToolDefinition) -> BaseTool:
    schema = {"type": "object", "properties": {}, **definition.parameters}
    tool = _ToolgateTool(name=definition.name, description=definition.description, args_schema=schema)
    tool._toolset = toolset  # noqa: SLF001 - the class is this module's own
    return tool


class _ToolgateTool(BaseTool):
    """One tool. Arguments reach it as one object, so that none of their names can clash with LangChain's own."""

    response_format: str = "content_and_artifact"  # type: ignore[assignment]  # narrower there, by a literal
    _toolset: Any = PrivateAttr()

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (tool_input, tool_call_id), {}

    async def _arun(self, tool_input: str | dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        arguments = tool_input if isinstance(tool_input, str) else encode(tool_input)
        call = ToolCall(id=tool_call_id or uuid7(), name=self.name, arguments=arguments)
        result = await self._toolset.handle(call)
        return self._answer(result.output, result.response.to_dict(), tool_call_id, failed=result.is_error)

    def _run(self, tool_input: str | dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        said = f"{self.name} was not run: it is asynchronous, and was called by invoke instead of ainvoke."
        return self._answer(said, None, tool_call_id, failed=True)

    def _answer(self, text: str, envelope: Any, call_id: str | None, *, failed: bool) -> tuple[Any, Any]:
        """The content and the artifact; an error is a message of its own, for only that has a status."""
        if not failed or call_id is None:
            return text, envelope
        message = ToolMessage(text, artifact=envelope, tool_call_id=call_id, name=self.name, status="error")
        return message, envelope
