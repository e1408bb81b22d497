"""Converts conversations to the format of OpenAI's chat API, in which only messages of the user have pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.protocol.content import ImageContent

_PICTURES_TEXT = "The pictures of the results above, in order: {names}"


def messages_of(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages. The pictures of tool messages follow the last of them in a message of the user."""
    originals = list(messages)
    if not any("images" in message for message in originals):  # nearly always: most messages pass as they are
        return [
            message if message.get("content") or not message.get("tool_calls") else _message(message)
            for message in originals
        ]
    converted: list[dict[str, Any]] = []
    waiting: list[ImageContent] = []
    for message in originals:
        if waiting and message["role"] != "tool":
            converted.append(pictures_message(waiting))
            waiting = []
        images = message.get("images") or ()
        if images and message["role"] == "user":
            converted.append(_with_images(message.get("content") or "", images))
            continue
        waiting += images
        converted.append(_message(message))
    return [*converted, pictures_message(waiting)] if waiting else converted


def pictures_message(images: Iterable[ImageContent]) -> dict[str, Any]:
    """Return the message of the user that shows pictures."""
    pictures = list(images)
    names = ", ".join(image.name or image.format for image in pictures)
    return _with_images(_PICTURES_TEXT.format(names=names), pictures)


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
