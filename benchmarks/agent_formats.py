"""The answers of a scripted model in the wire formats of three providers; standard library only.

An answer is one call of the agent's own shell tool, or the text "done". `whole` is the answer as one JSON document,
`events` the same as a stream.
"""

import json
from dataclasses import dataclass
from typing import Any

SHELL_TOOLS = ("bash", "exec_command", "shell", "shell_command", "run_shell_command", "terminal")
_COMMAND = ("command", "cmd", "commands")
_FILLERS = {"boolean": False, "integer": 60, "number": 60, "array": [], "object": {}}

Event = tuple[str | None, dict[str, Any] | str]


@dataclass(frozen=True)
class Call:
    """A call of a tool by name and arguments."""

    name: str
    arguments: dict[str, Any]


def shell_call(request: dict[str, Any], command: str) -> Call | None:
    """The call that runs a command with the shell tool that the request offers; None if it offers none."""
    offered = {}
    for tool in request.get("tools") or []:
        about = tool.get("function", tool)
        offered[str(about.get("name", "")).lower()] = about
    found = next((offered[name] for name in SHELL_TOOLS if name in offered), None)
    if found is None:
        return None
    schema = found.get("parameters") or found.get("input_schema") or {}
    return Call(found["name"], _arguments(schema, command))


def _arguments(schema: dict[str, Any], command: str) -> dict[str, Any]:
    """The command in its place; whatever else is required gets a value of its type."""
    properties = schema.get("properties") or {}
    place = next((name for name in _COMMAND if name in properties), "command")
    given: dict[str, Any] = {}
    for name in schema.get("required") or []:
        about = properties.get(name) or {}
        given[name] = about["enum"][0] if about.get("enum") else _FILLERS.get(str(about.get("type")), "x")
    listed = (properties.get(place) or {}).get("type") == "array"
    return given | {place: ["bash", "-c", command] if listed else command}


class Chat:
    """OpenAI's chat completions."""

    path = "/chat/completions"

    def whole(self, call: Call | None, number: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": None if call else "done"} | self._calls(call, number)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
        return self._base("chat.completion", choice) | {"usage": self._usage()}

    def events(self, call: Call | None, number: int) -> list[Event]:
        delta = {"role": "assistant", "content": None if call else "done"} | self._calls(call, number)
        first = self._base("chat.completion.chunk", {"index": 0, "delta": delta, "finish_reason": None})
        reason = "tool_calls" if call else "stop"
        last = self._base("chat.completion.chunk", {"index": 0, "delta": {}, "finish_reason": reason})
        return [(None, first), (None, last | {"usage": self._usage()}), (None, "[DONE]")]

    def _calls(self, call: Call | None, number: int) -> dict[str, Any]:
        if call is None:
            return {}
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        return {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]}

    def _base(self, kind: str, choice: dict[str, Any]) -> dict[str, Any]:
        return {"id": "c", "created": 1, "model": "mock", "object": kind, "choices": [choice]}

    def _usage(self) -> dict[str, int]:
        return {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class Responses:
    """OpenAI's responses."""

    path = "/responses"

    def whole(self, call: Call | None, number: int) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return self._base(number, "completed", [self._item(call, number)]) | {"usage": usage | details}

    def events(self, call: Call | None, number: int) -> list[Event]:
        item = self._item(call, number)
        begun = item | {"status": "in_progress"} | ({} if call else {"content": []})
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": self._base(number, "in_progress", [])},
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
        ]
        if call is None:
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            events.append({"type": "response.output_text.delta", **place, "delta": "done"})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": self.whole(call, number)})
        return [(event["type"], event | {"sequence_number": place}) for place, event in enumerate(events)]

    def _item(self, call: Call | None, number: int) -> dict[str, Any]:
        if call is None:
            said = {"type": "output_text", "text": "done", "annotations": []}
            return {
                "type": "message",
                "id": f"m_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
        called = {"name": call.name, "arguments": json.dumps(call.arguments), "call_id": f"call_{number}"}
        return {"type": "function_call", "id": f"f_{number}", "status": "completed", **called}

    def _base(self, number: int, status: str, output: list[Any]) -> dict[str, Any]:
        about = {"id": f"r_{number}", "object": "response", "created_at": 1, "model": "mock"}
        return about | {"status": status, "output": output}


class Messages:
    """Anthropic's messages."""

    path = "/messages"

    def whole(self, call: Call | None, number: int) -> dict[str, Any]:
        block, reason = self._block(call, number)
        return self._base(number) | {"content": [block], "stop_reason": reason}

    def events(self, call: Call | None, number: int) -> list[Event]:
        block, reason = self._block(call, number)
        if call is None:
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": "done"}
        else:
            empty, delta = (
                block | {"input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)},
            )
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": self._base(number)},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": self._usage()},
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events]

    def _block(self, call: Call | None, number: int) -> tuple[dict[str, Any], str]:
        if call is None:
            return {"type": "text", "text": "done"}, "end_turn"
        return {"type": "tool_use", "id": f"toolu_{number}", "name": call.name, "input": call.arguments}, "tool_use"

    def _base(self, number: int) -> dict[str, Any]:
        about = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "mock", "content": []}
        return about | {"stop_reason": None, "stop_sequence": None, "usage": self._usage()}

    def _usage(self) -> dict[str, int]:
        return {"input_tokens": 10, "output_tokens": 5}


FORMATS: tuple[Chat | Responses | Messages, ...] = (Chat(), Responses(), Messages())
