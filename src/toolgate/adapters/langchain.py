"""Adapter for LangChain: turns a toolset into a list of LangChain tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from toolgate.adapters.users_policy import under_users_policy
from toolgate.extras import optional_imports
from toolgate.protocol.calls import ToolCall, ToolDefinition
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode

with optional_imports():
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset


def langchain_tools(toolset: CallableToolset) -> list[BaseTool]:
    """`async with toolgate.open(root, mode) as toolset: create_agent(model, tools=langchain_tools(toolset))`.

    Every call passes the gates and asks the context's approver. A failed call becomes a tool message with status
    `error`, which the model reads; it never raises an exception that ends the run. The envelope is the message's
    `artifact`. The tools are asynchronous: use `ainvoke` and `astream`.
    """
    toolset = under_users_policy(toolset)
    return [_tool(toolset, definition) for definition in toolset.tools]


def _tool(toolset: CallableToolset, definition: ToolDefinition) -> BaseTool:
    schema = {"type": "object", "properties": {}, **definition.parameters}
    tool = _ToolgateTool(name=definition.name, description=definition.description, args_schema=schema)
    tool._toolset = toolset  # noqa: SLF001 - the class belongs to this module
    return tool


class _ToolgateTool(BaseTool):
    """One tool. It takes its arguments as one object, so that their names cannot clash with LangChain's."""

    response_format: str = "content_and_artifact"  # type: ignore[assignment]  # LangChain narrows it to a literal
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
        said = f"{self.name} was not run: it is asynchronous, but was called with invoke. Use ainvoke."
        return self._answer(said, None, tool_call_id, failed=True)

    def _answer(self, text: str, envelope: Any, call_id: str | None, *, failed: bool) -> tuple[Any, Any]:
        """Return the content and the artifact. An error is a whole message, because only a message has a status."""
        if not failed or call_id is None:
            return text, envelope
        message = ToolMessage(text, artifact=envelope, tool_call_id=call_id, name=self.name, status="error")
        return message, envelope
