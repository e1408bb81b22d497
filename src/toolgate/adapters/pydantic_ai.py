"""Adapter for pydantic-ai: turns a toolset into a pydantic-ai toolset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolgate.adapters.pictures import text_with_note
from toolgate.adapters.users_policy import under_users_policy
from toolgate.extras import optional_imports
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import encode
from toolgate.runtime.arguments import ArgumentsError, parse_arguments

with optional_imports():
    from pydantic_ai import BinaryContent, RunContext, ToolDefinition, ToolFailed, ToolReturn
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset

_RAW_ARGUMENTS = "toolgate: unreadable arguments"
"""The key for arguments that are not a JSON object."""


class ToolgateToolset(AbstractToolset[Any]):
    """`async with toolgate.open(root, mode) as toolset: Agent(model, toolsets=[ToolgateToolset(toolset)])`.

    The visible tools are listed again before every step. Every call passes the gates and asks the context's approver.
    A failed call becomes a failed tool return that the model reads; it never raises an exception that ends the run. The
    envelope of a successful call is its `metadata`. A picture of a result is a `BinaryContent` of the tool return; for
    a model that takes none, `pictures=False` names it in the text.
    """

    def __init__(self, toolset: CallableToolset, *, id: str | None = "toolgate", pictures: bool = True) -> None:  # noqa: A002 - their name
        self._pictures = pictures
        self._toolset = under_users_policy(toolset)
        self._id = id

    @property
    def id(self) -> str | None:
        """The toolset's name within an agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that are visible now."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
                ),
                max_retries=0,
                args_validator=_AcceptAnything(),
            )
            for tool in self._toolset.tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn[Any]:
        """Handle one call."""
        raw = tool_args.get(_RAW_ARGUMENTS)
        arguments = raw if isinstance(raw, str) else encode(tool_args)
        call = ToolCall(id=ctx.tool_call_id or uuid7(), name=name, arguments=arguments)
        result = await self._toolset.handle(call)
        if result.is_error:
            raise ToolFailed(result.output)
        return ToolReturn(return_value=self._content(result), metadata=result.response.to_dict())

    def _content(self, result: ToolResult) -> Any:
        """Return what the model reads and sees."""
        if not self._pictures or not result.content:
            return text_with_note(result)
        return [result.output, *(BinaryContent(image.data, media_type=image.media_type) for image in result.content)]


class _AcceptAnything:
    """Accepts all arguments: the pipeline validates them and tells the model how to correct them."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:  # noqa: A002 - their name
        """Return the object, or the text as it was written."""
        text = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        try:
            return parse_arguments(text)
        except ArgumentsError:
            return {_RAW_ARGUMENTS: text}

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:  # noqa: A002 - their name
        """Return the object, or any other value as text."""
        return input if isinstance(input, dict) else {_RAW_ARGUMENTS: json.dumps(input, default=str)}
