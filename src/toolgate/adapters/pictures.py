"""Pictures of results in the bridges: an address with their bytes, or a note for a model that takes only text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.content import described

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolResult
    from toolgate.protocol.content import ImageContent


def text_with_note(result: ToolResult) -> str:
    """Return what the model reads if it takes no pictures: the output, and a line that names what it is not shown."""
    if not result.content:
        return result.output
    return f"{result.output}\n[Not shown: {described(result.content)}. Only text reaches this model]".lstrip()


def data_url(image: ImageContent) -> str:
    """Return a picture as an address that contains its bytes."""
    return f"data:{image.media_type};base64,{image.base64}"
