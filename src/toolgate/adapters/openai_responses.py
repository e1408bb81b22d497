"""Converts tools, calls and results from and to OpenAI's Responses format. Plain functions; no SDK is needed.

The format has no flag for errors; the text of a result says that it is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.adapters.formats import Document, as_mapping, result_of, text_of
from toolgate.adapters.pictures import data_url, text_with_note
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.jsontext import encode


def to_tools(definitions: Iterable[ToolDefinition]) -> list[Document]:
    """Return the `tools` of a request. They are not strict: strict schemas have no optional arguments."""
    return [{"type": "function", **definition.model_dump(), "strict": False} for definition in definitions]


def from_tools(tools: Iterable[Any]) -> list[ToolDefinition]:
    """Read the definitions from the `tools` of a request. Tools that are not functions are skipped."""
    return [
        ToolDefinition(
            name=tool["name"],
            description=tool.get("description") or "",
            parameters=tool.get("parameters") or {"type": "object", "properties": {}},
        )
        for tool in map(as_mapping, tools)
        if tool.get("type") == "function"
    ]


def to_calls(calls: Iterable[ToolCall], text: str = "") -> list[Document]:
    """Return the assistant's items with these calls, to continue a conversation."""
    parts: list[Document] = [{"role": "assistant", "content": text}] if text else []
    return parts + [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
    ]


def from_calls(response: Any) -> list[ToolCall]:
    """Read the calls from a response or its list of items, with the arguments exactly as the model wrote them."""
    items = response if isinstance(response, list | tuple) else as_mapping(response).get("output") or ()
    return [call for item in map(as_mapping, items) if (call := _call(item)) is not None]


def _call(item: Any) -> ToolCall | None:
    if item.get("type") == "function_call":
        return ToolCall(id=item["call_id"], name=item["name"], arguments=item["arguments"])
    if item.get("type") == "custom_tool_call":
        return ToolCall(id=item["call_id"], name=item["name"], arguments=encode({"input": item["input"]}))
    return None


def to_results(results: Iterable[ToolResult], *, pictures: bool = True) -> list[Document]:
    """Return the items that answer the calls, one per call.

    Pictures are parts of their output. For a model that takes none, `pictures=False` names them in the text.
    """
    return [
        {
            "type": "function_call_output",
            "call_id": result.tool_call_id,
            "output": _output(result) if pictures else text_with_note(result),
        }
        for result in results
    ]


def _output(result: ToolResult) -> str | list[Document]:
    if not result.content:
        return result.output
    parts: list[Document] = [{"type": "input_text", "text": result.output}]
    return parts + [{"type": "input_image", "image_url": data_url(image)} for image in result.content]


def from_results(items: Iterable[Any]) -> list[ToolResult]:
    """Read the results from a conversation. Other items are skipped."""
    return [
        result_of(item["call_id"], text_of(item.get("output")))
        for item in map(as_mapping, items)
        if item.get("type") in ("function_call_output", "custom_tool_call_output")
    ]


class CallStream:
    """Assembles calls from a stream of events."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, Any]] = {}

    def add(self, event: Any) -> None:
        """Add one event. Events that do not belong to a call are ignored."""
        document = as_mapping(event)
        kind, index = document.get("type"), document.get("output_index")
        if not isinstance(index, int):
            return
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index] = dict(as_mapping(document["item"]))
        elif kind == "response.function_call_arguments.delta" and index in self._items:
            item = self._items[index]
            item["arguments"] = (item.get("arguments") or "") + document["delta"]
        elif kind == "response.function_call_arguments.done" and index in self._items:
            self._items[index]["arguments"] = document["arguments"]

    def finished(self) -> list[ToolCall]:
        """Return all calls in the order of the response."""
        return from_calls([self._items[index] for index in sorted(self._items)])
