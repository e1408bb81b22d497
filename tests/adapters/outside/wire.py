"""The wire formats that agents speak with their models: what a request says, and how a model answers it.

Each format reads the offered tools and the results of tools from a request, and writes an answer as server-sent events.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]
Event = tuple[str | None, Json | str]
"""The name of a server-sent event, if it has one, and its data."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as the model sees it."""

    name: str
    namespace: str | None = None
    is_custom: bool = False
    """Whether its input is a text and not an object (OpenAI's custom tools)."""

    @property
    def full_name(self) -> str:
        """The name with its namespace."""
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Call:
    """What the model calls."""

    tool: Offered
    arguments: Json
    number: int


class Format(Protocol):
    """One protocol between an agent and its model."""

    def offered(self, body: Json) -> list[Offered]:
        """The tools of a request."""

    def results(self, body: Json) -> list[str]:
        """What the tools have answered so far, as the model reads it."""

    def answer(self, body: Json, call: Call | None) -> list[Event]:
        """A call, or the words of a model that is done."""


DONE = "That is all."


def _text(content: Any) -> str:
    """The text of a message, whether it is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", f"<{part.get('type')}>") for part in content)


class Chat:
    """OpenAI's chat completions."""

    def offered(self, body: Json) -> list[Offered]:
        return [Offered(tool["function"]["name"]) for tool in body.get("tools", [])]

    def results(self, body: Json) -> list[str]:
        return [_text(message["content"]) for message in body["messages"] if message["role"] == "tool"]

    def answer(self, body: Json, call: Call | None) -> list[Event]:
        delta: Json = {"role": "assistant", "content": DONE}
        if call is not None:
            function = {"name": call.tool.full_name, "arguments": json.dumps(call.arguments)}
            made = {"index": 0, "id": f"call_{call.number}", "type": "function", "function": function}
            delta = {"role": "assistant", "tool_calls": [made]}
        document = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "script"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        first = {"index": 0, "delta": delta, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
        return [
            (None, {**document, "choices": [first]}),
            (None, {**document, "choices": [last], "usage": usage}),
            (None, "[DONE]"),
        ]


class Responses:
    """OpenAI's responses."""

    def offered(self, body: Json) -> list[Offered]:
        return list(self._tools(body))

    def _tools(self, body: Json) -> Iterator[Offered]:
        later = [tool for item in body["input"] if item["type"] == "additional_tools" for tool in item["tools"]]
        for tool in [*body.get("tools", []), *later]:
            if tool["type"] == "namespace":
                yield from (Offered(inner["name"], tool["name"], _custom(inner)) for inner in tool["tools"])
            else:
                yield Offered(tool.get("name", tool["type"]), None, _custom(tool))

    def results(self, body: Json) -> list[str]:
        kinds = ("function_call_output", "custom_tool_call_output")
        return [_text(item["output"]) for item in body["input"] if item["type"] in kinds]

    def answer(self, body: Json, call: Call | None) -> list[Event]:
        text = {"type": "output_text", "text": DONE, "annotations": []}
        item: Json = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        if call is not None:
            given = {"type": "function_call", "arguments": json.dumps(call.arguments)}
            if call.tool.is_custom:
                given = {"type": "custom_tool_call", "input": call.arguments["input"]}
            item = {
                **given,
                "id": f"item_{call.number}",
                "call_id": f"call_{call.number}",
                "status": "completed",
                "name": call.tool.name,
                **({"namespace": call.tool.namespace} if call.tool.namespace else {}),
            }
        response = {"id": "r", "object": "response", "created_at": 1, "model": "script", "status": "in_progress"}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        ended = {**response, "status": "completed", "output": [item], "usage": usage}
        events: list[Json] = [
            {"type": "response.created", "response": {**response, "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": ended},
        ]
        return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)]


def _custom(tool: Json) -> bool:
    return bool(tool["type"] == "custom")


class Messages:
    """Anthropic's messages."""

    def offered(self, body: Json) -> list[Offered]:
        return [Offered(tool["name"]) for tool in body.get("tools", [])]

    def results(self, body: Json) -> list[str]:
        parts = [
            part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
        ]
        return [_text(part["content"]) for part in parts if part["type"] == "tool_result"]

    def answer(self, body: Json, call: Call | None) -> list[Event]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "script", "content": [], "usage": usage}
        block: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": DONE}
        if call is not None:
            block = {"type": "tool_use", "id": f"toolu_{call.number}", "name": call.tool.full_name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        events: list[Json] = [
            {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events]


class GenerateContent:
    """Gemini's generateContent."""

    def offered(self, body: Json) -> list[Offered]:
        declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        return [Offered(one["name"]) for one in declared]

    def results(self, body: Json) -> list[str]:
        parts = [part for content in body["contents"] for part in content["parts"]]
        answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        return [str(answer.get("output", answer.get("error", answer))) for answer in answers]

    def answer(self, body: Json, call: Call | None) -> list[Event]:
        part: Json = {"text": DONE}
        if call is not None:
            part = {"functionCall": {"name": call.tool.full_name, "args": call.arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return [(None, {"candidates": [candidate], "usageMetadata": usage})]


FORMATS: dict[str, Format] = {
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "/messages": Messages(),
    ":streamGenerateContent": GenerateContent(),
    ":generateContent": GenerateContent(),
}
"""How a path ends → its format."""
