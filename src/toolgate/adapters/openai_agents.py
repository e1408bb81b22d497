"""Adapter for the OpenAI Agents SDK: turns a toolset into a list of function tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.adapters.pictures import data_url, text_with_note
from toolgate.adapters.users_policy import under_users_policy
from toolgate.extras import optional_imports
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult

with optional_imports():
    from agents import (
        AgentBase,
        FunctionTool,
        FunctionToolCustomDataContext,
        RunContextWrapper,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.tool_context import ToolContext

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset


def function_tools(toolset: CallableToolset, *, pictures: bool = True) -> list[FunctionTool]:
    """`async with toolgate.open(root, mode) as toolset: Agent(name=…, tools=function_tools(toolset))`.

    A tool that is hidden later is disabled while it is hidden. Every call passes the gates and asks the context's
    approver. A failed call becomes an output that the model reads; it never raises an exception that ends the run. The
    envelope is in the output item's `custom_data`, under `toolgate`. A picture of a result is an image of the output;
    for a model that takes none, `pictures=False` names it in the text.
    """
    toolset = under_users_policy(toolset)
    return [_function_tool(toolset, definition, pictures) for definition in toolset.tools]


class _Output(str):
    """The text for the model, together with the result that it was rendered from."""

    result: ToolResult


class _Parts(list[ToolOutputText | ToolOutputImage]):
    """The text and the pictures for the model, together with the result that they come from."""

    result: ToolResult


def _output(result: ToolResult, pictures: bool) -> _Output | _Parts:
    output: _Output | _Parts
    if pictures and result.content:
        images = [ToolOutputImage(image_url=data_url(image)) for image in result.content]
        output = _Parts([ToolOutputText(text=result.output), *images])
    else:
        output = _Output(text_with_note(result))
    output.result = result
    return output


def _function_tool(toolset: CallableToolset, definition: ToolDefinition, pictures: bool) -> FunctionTool:
    name = definition.name

    async def invoke(context: ToolContext[Any], arguments: str) -> _Output | _Parts:
        result = await toolset.handle(ToolCall(id=context.tool_call_id, name=name, arguments=arguments))
        return _output(result, pictures)

    def is_visible(_context: RunContextWrapper[Any], _agent: AgentBase[Any]) -> bool:
        return any(tool.name == name for tool in toolset.tools)

    return FunctionTool(
        name=name,
        description=definition.description,
        params_json_schema=definition.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
        is_enabled=is_visible,
        custom_data_extractor=_envelope,
    )


def _envelope(context: FunctionToolCustomDataContext) -> dict[str, Any] | None:
    """Return the envelope of a call for the application; the model does not see it."""
    output = context.output
    return {"toolgate": output.result.response.to_dict()} if isinstance(output, _Output | _Parts) else None
