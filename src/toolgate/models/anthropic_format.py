"""Converts conversations and tool definitions to the format of Anthropic's messages API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from toolgate.protocol.content import ImageContent

_INVALID_ID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")


def conversation(messages: Iterable[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt and the messages.

    Roles alternate, and the results of tool calls share the message after the calls.
    """
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


def tool_definition(tool: dict[str, Any]) -> dict[str, Any]:
    """Convert one tool definition."""
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
                "tool_use_id": valid_id(message["tool_call_id"]),
                "content": result_content(content, message.get("images") or ()),
            }
        ]
    if message.get("images"):  # of the user
        return [*_images(message["images"]), *_text(content)]
    return _text(content) + [
        {
            "type": "tool_use",
            "id": valid_id(call["id"]),
            "name": call["function"]["name"] or "unnamed",
            "input": parse_arguments(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]


def result_content(text: str, images: Sequence[ImageContent]) -> str | list[dict[str, Any]]:
    """Return the content of a result: its text, or blocks if there are pictures."""
    if not images:
        return text or "(empty)"
    return [*_text(text), *_images(images)]


def _text(text: str) -> list[dict[str, Any]]:
    """Return the block of a text. The API rejects blank text."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _images(images: Iterable[ImageContent]) -> list[dict[str, Any]]:
    return [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.base64}}
        for image in images
    ]


def valid_id(identifier: str) -> str:
    """Replace characters that Anthropic rejects; other providers may have used them in their ids."""
    return _INVALID_ID_CHARACTERS.sub("_", identifier) or "_"


def parse_arguments(arguments: str) -> dict[str, Any]:
    """Parse the arguments into an object.

    Arguments that do not parse are sent unchanged under one key: the result of that call explains the error.
    """
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unreadable_arguments": arguments}
