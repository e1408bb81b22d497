"""Tools, calls and results in the form of OpenAI's Chat Completions. Pure functions on plain objects; no SDK is needed.

The form has no mark for a result that is an error: the text says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.adapters.formats import Document, plain, result_of, text_of
from toolgate.models.tool_calls import ToolCallAssembler
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.jsontext import encode


def to_tools(definitions: Iterable[ToolDefinition]) -> list[Document]:
    """The `tools` of a request."""
    return [{"type": "function", "function": definition.model_dump()} for definition in definitions]


def from_tools(tools: Iterable[Any]) -> list[ToolDefinition]:
    """The definitions in the `tools` of a request; those that are no functions are left out."""
    functions = [plain(tool["function"]) for tool in map(plain, tools) if tool.get("type") == "function"]
    return [
        ToolDefinition(
            name=function["name"],
            description=function.get("description") or "",
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
        )
        for function in functions
    ]


def to_calls(calls: Iterable[ToolCall], text: str = "") -> list[Document]:
    """The assistant's message with these calls, to go on a conversation with."""
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    message: Document = {"role": "assistant", "content": text or None}
    return [{**message, "tool_calls": made} if made else message]


def from_calls(message: Any) -> list[ToolCall]:
    """The calls in an assistant's message, with the arguments exactly as the model wrote them."""
    return [_call(plain(call)) for call in plain(message).get("tool_calls") or ()]


def _call(call: Any) -> ToolCall:
    if call.get("type") == "custom":
        custom = plain(call["custom"])
        return ToolCall(id=call["id"], name=custom["name"], arguments=encode({"input": custom["input"]}))
    function = plain(call["function"])
    return ToolCall(id=call["id"], name=function["name"], arguments=function["arguments"])


def to_results(results: Iterable[ToolResult]) -> list[Document]:
    """The messages that answer the calls, one each."""
    return [{"role": "tool", "tool_call_id": result.tool_call_id, "content": result.output} for result in results]


def from_results(messages: Iterable[Any]) -> list[ToolResult]:
    """The results in a conversation; messages that are none are left out."""
    return [
        result_of(message["tool_call_id"], text_of(message.get("content")))
        for message in map(plain, messages)
        if message.get("role") == "tool"
    ]


class CallStream:
    """Puts the calls together that a stream of chunks brings in fragments."""

    def __init__(self) -> None:
        self._fragments = ToolCallAssembler()

    def add(self, chunk: Any) -> None:
        """Take one chunk in; of more than one choice only the first counts."""
        for choice in list(plain(chunk).get("choices") or ())[:1]:
            delta = plain(plain(choice).get("delta") or {})
            for part in map(plain, delta.get("tool_calls") or ()):
                function = plain(part.get("function") or {})
                self._fragments.add(
                    part.get("index"),
                    call_id=part.get("id"),
                    name=function.get("name"),
                    text=function.get("arguments"),
                )

    def finished(self) -> list[ToolCall]:
        """All calls, in the order in which they began."""
        return self._fragments.finished()
