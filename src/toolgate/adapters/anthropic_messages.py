"""Converts tools, calls and results from and to Anthropic's Messages format. Plain functions; no SDK is needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.adapters.formats import Document, as_mapping, result_of, text_of
from toolgate.adapters.pictures import text_with_note
from toolgate.models.anthropic_format import parse_arguments, result_content, valid_id
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.jsontext import encode


def to_tools(definitions: Iterable[ToolDefinition]) -> list[Document]:
    """Return the `tools` of a request."""
    return [
        {
            "name": definition.name,
            "description": definition.description,
            "input_schema": {"type": "object", **definition.parameters},
        }
        for definition in definitions
    ]


def from_tools(tools: Iterable[Any]) -> list[ToolDefinition]:
    """Read the definitions from the `tools` of a request. The provider's own tools have no schema and are skipped."""
    return [
        ToolDefinition(
            name=tool["name"],
            description=tool.get("description") or "",
            parameters=dict(as_mapping(tool["input_schema"])),
        )
        for tool in map(as_mapping, tools)
        if tool.get("input_schema") is not None
    ]


def to_calls(calls: Iterable[ToolCall], text: str = "") -> list[Document]:
    """Return the assistant's message with these calls, to continue a conversation.

    In this format arguments are an object. Arguments that do not parse are kept under `unreadable_arguments`.
    """
    text_blocks: list[Document] = [{"type": "text", "text": text}] if text.strip() else []  # the API rejects blank text
    tool_uses = [
        {
            "type": "tool_use",
            "id": valid_id(call.id),
            "name": call.name or "unnamed",
            "input": parse_arguments(call.arguments),
        }
        for call in calls
    ]
    return [{"role": "assistant", "content": text_blocks + tool_uses}]


def from_calls(message: Any) -> list[ToolCall]:
    """Read the calls from an assistant's message; their arguments become JSON text."""
    content = as_mapping(message).get("content")
    blocks = () if content is None or isinstance(content, str) else map(as_mapping, content)
    return [
        ToolCall(id=block["id"], name=block["name"], arguments=encode(block["input"]))
        for block in blocks
        if block.get("type") == "tool_use"
    ]


def to_results(results: Iterable[ToolResult], *, pictures: bool = True) -> list[Document]:
    """Return the one message that answers the calls: the format wants all results of a turn together.

    Pictures are blocks of their result. For a model that takes none, `pictures=False` names them in the text.
    """
    blocks = [_block(result, pictures) for result in results]
    return [{"role": "user", "content": blocks}] if blocks else []


def _block(result: ToolResult, pictures: bool) -> Document:
    text, images = (result.output, result.content) if pictures else (text_with_note(result), ())
    block: Document = {
        "type": "tool_result",
        "tool_use_id": valid_id(result.tool_call_id),
        "content": result_content(text, images),
    }
    return {**block, "is_error": True} if result.is_error else block


def from_results(messages: Iterable[Any]) -> list[ToolResult]:
    """Read the results from a conversation. Other messages and blocks are skipped."""
    found: list[ToolResult] = []
    for message in map(as_mapping, messages):
        content = message.get("content")
        if message.get("role") != "user" or content is None or isinstance(content, str):
            continue
        found += [
            result_of(block["tool_use_id"], text_of(block.get("content")), is_error=block.get("is_error") is True)
            for block in map(as_mapping, content)
            if block.get("type") == "tool_result"
        ]
    return found


class CallStream:
    """Assembles calls from a stream of events."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, str] = {}

    def add(self, event: Any) -> None:
        """Add one event. Events that do not belong to a call are ignored."""
        document = as_mapping(event)
        index = document.get("index")
        if not isinstance(index, int):
            return
        if document.get("type") == "content_block_start":
            block = as_mapping(document["content_block"])
            if block.get("type") == "tool_use":
                self._blocks[index], self._texts[index] = dict(block), ""
        elif document.get("type") == "content_block_delta" and index in self._blocks:
            delta = as_mapping(document["delta"])
            if delta.get("type") == "input_json_delta":
                self._texts[index] += delta["partial_json"]

    def finished(self) -> list[ToolCall]:
        """Return all calls in the order of the message, with the arguments exactly as the model wrote them."""
        return [
            ToolCall(
                id=block["id"], name=block["name"], arguments=self._texts[index] or encode(block.get("input") or {})
            )
            for index, block in sorted(self._blocks.items())
        ]
