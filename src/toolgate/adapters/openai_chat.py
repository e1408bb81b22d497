"""Converts tools, calls and results from and to OpenAI's Chat Completions format. Plain functions; no SDK is needed.

The format has no flag for errors; the text of a result says that it is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.adapters.formats import Document, as_mapping, result_of, text_of
from toolgate.adapters.pictures import text_with_note
from toolgate.models.openai_format import pictures_message
from toolgate.models.tool_calls import ToolCallAssembler
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.jsontext import encode


def to_tools(definitions: Iterable[ToolDefinition]) -> list[Document]:
    """Return the `tools` of a request."""
    return [{"type": "function", "function": definition.model_dump()} for definition in definitions]


def from_tools(tools: Iterable[Any]) -> list[ToolDefinition]:
    """Read the definitions from the `tools` of a request. Tools that are not functions are skipped."""
    functions = [as_mapping(tool["function"]) for tool in map(as_mapping, tools) if tool.get("type") == "function"]
    return [
        ToolDefinition(
            name=function["name"],
            description=function.get("description") or "",
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
        )
        for function in functions
    ]


def to_calls(calls: Iterable[ToolCall], text: str = "") -> list[Document]:
    """Return the assistant's message with these calls, to continue a conversation."""
    tool_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    message: Document = {"role": "assistant", "content": text or None}
    return [{**message, "tool_calls": tool_calls} if tool_calls else message]


def from_calls(message: Any) -> list[ToolCall]:
    """Read the calls from an assistant's message, with the arguments exactly as the model wrote them."""
    return [_call(as_mapping(call)) for call in as_mapping(message).get("tool_calls") or ()]


def _call(call: Any) -> ToolCall:
    if call.get("type") == "custom":
        custom = as_mapping(call["custom"])
        return ToolCall(id=call["id"], name=custom["name"], arguments=encode({"input": custom["input"]}))
    function = as_mapping(call["function"])
    return ToolCall(id=call["id"], name=function["name"], arguments=function["arguments"])


def to_results(results: Iterable[ToolResult], *, pictures: bool = True) -> list[Document]:
    """Return the messages that answer the calls, one per call; pictures follow in a message of the user.

    For a model that takes no pictures, `pictures=False` names them in the text.
    """
    answers = list(results)
    messages: list[Document] = [
        {
            "role": "tool",
            "tool_call_id": result.tool_call_id,
            "content": result.output if pictures else text_with_note(result),
        }
        for result in answers
    ]
    images = [image for result in answers for image in result.content] if pictures else []
    return [*messages, pictures_message(images)] if images else messages


def from_results(messages: Iterable[Any]) -> list[ToolResult]:
    """Read the results from a conversation. Other messages are skipped."""
    return [
        result_of(message["tool_call_id"], text_of(message.get("content")))
        for message in map(as_mapping, messages)
        if message.get("role") == "tool"
    ]


class CallStream:
    """Assembles calls from a stream of chunks."""

    def __init__(self) -> None:
        self._assembler = ToolCallAssembler()

    def add(self, chunk: Any) -> None:
        """Add one chunk. Only its first choice counts."""
        for choice in list(as_mapping(chunk).get("choices") or ())[:1]:
            delta = as_mapping(as_mapping(choice).get("delta") or {})
            for part in map(as_mapping, delta.get("tool_calls") or ()):
                function = as_mapping(part.get("function") or {})
                self._assembler.add(
                    part.get("index"),
                    call_id=part.get("id"),
                    name=function.get("name"),
                    text=function.get("arguments"),
                )

    def finished(self) -> list[ToolCall]:
        """Return all calls in the order in which they began."""
        return self._assembler.finished()
