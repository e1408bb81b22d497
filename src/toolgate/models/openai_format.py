"""Converts conversations to the format of OpenAI's chat API, in which only the user shows pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.protocol.content import ImageContent

_SHOWN = "The pictures of the results above, in order: {names}"


def messages_of(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages. The pictures of tool messages follow the last of them in a message of the user."""
    given = list(messages)
    if not any("images" in message for message in given):  # as nearly always: nothing is looked at twice
        return [
            message if message.get("content") or not message.get("tool_calls") else _message(message)
            for message in given
        ]
    made: list[dict[str, Any]] = []
    waiting: list[ImageContent] = []
    for message in given:
        if waiting and message["role"] != "tool":
            made.append(pictures_message(waiting))
            waiting = []
        images = message.get("images") or ()
        if images and message["role"] == "user":
            made.append(_with_images(message.get("content") or "", images))
            continue
        waiting += images
        made.append(_message(message))
    return [*made, pictures_message(waiting)] if waiting else made


def pictures_message(images: Iterable[ImageContent]) -> dict[str, Any]:
    """Return the message of the user that shows pictures."""
    shown = list(images)
    names = ", ".join(image.name or image.format for image in shown)
    return _with_images(_SHOWN.format(names=names), shown)


def _with_images(text: str, images: Iterable[ImageContent]) -> dict[str, Any]:
    """Return a message of the user with a text, if there is one, and pictures."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for image in images:
        url = f"data:{image.media_type};base64,{image.base64}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": "user", "content": parts}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """Set the content of a message with only calls to `null`, as the API documents; some servers reject empty text."""
    if "images" in message:
        message = {key: value for key, value in message.items() if key != "images"}
    return {**message, "content": None} if message.get("tool_calls") and not message.get("content") else message
