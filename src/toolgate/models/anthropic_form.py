"""Conversations and tools in the form of Anthropic's API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

_NO_ID = re.compile(r"[^a-zA-Z0-9_-]")


def conversation(messages: Iterable[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """The system prompt, and the messages: roles alternate, results stand together in the message after their calls."""
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "system":
            system.append(message["content"])
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return "\n\n".join(system), turns


def tool_form(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool's definition."""
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": {"type": "object", **function["parameters"]},
    }


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or ""
    if message["role"] == "tool":
        return [
            {
                "type": "tool_result",
                "tool_use_id": provider_id(message["tool_call_id"]),
                "content": content or "(empty)",
            }
        ]
    text = [{"type": "text", "text": content}] if content.strip() else []  # blank text is refused
    return text + [
        {
            "type": "tool_use",
            "id": provider_id(call["id"]),
            "name": call["function"]["name"] or "unnamed",
            "input": input_object(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]


def provider_id(identifier: str) -> str:
    """An id that this provider accepts; those of another one may hold what it refuses."""
    return _NO_ID.sub("_", identifier) or "_"


def input_object(arguments: str) -> dict[str, Any]:
    """The arguments as an object; what did not parse is shown as it was, for its result says what was wrong with it."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unreadable_arguments": arguments}
