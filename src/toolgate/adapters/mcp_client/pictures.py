"""The pictures in the result of a foreign tool, decoded in a process of their own before they count as pictures."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING

from toolgate.documents.images import image_of
from toolgate.errors import ToolError
from toolgate.protocol.content import ImageContent
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from mcp_types import CallToolResult

MAX_PICTURES = 8
"""Maximum pictures of one result; the others are named and left out."""


async def images_of(result: CallToolResult, name: str) -> dict[int, ImageContent]:
    """Return the pictures that models accept, by the index of their content block."""
    found: dict[int, ImageContent] = {}
    for index, block in enumerate(result.content):
        if block.type == "image" and len(found) < MAX_PICTURES:
            image = await in_thread(_image, block.data, f"{name}, picture {len(found) + 1}")
            if image is not None:
                found[index] = image
    return found


def _image(stop: Stop, encoded: str, name: str) -> ImageContent | None:
    try:
        return image_of(stop, b64decode(encoded, validate=True), name)
    except (ToolError, binascii.Error, ValueError):
        return None
