"""Conversations in the format of Anthropic's messages API."""

from base64 import b64encode

from tests.support.pictures import png
from toolgate.models.anthropic_format import conversation
from toolgate.protocol.content import ImageContent

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")


def test_pictures_are_blocks_of_their_result() -> None:
    _, (turn,) = conversation([{"role": "tool", "tool_call_id": "1", "content": "text", "images": (PICTURE,)}])
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(png()).decode()}
    assert turn["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": [{"type": "text", "text": "text"}, {"type": "image", "source": source}],
        }
    ]


def test_a_result_without_pictures_stays_text() -> None:
    _, (turn,) = conversation([{"role": "tool", "tool_call_id": "1", "content": ""}])
    assert turn["content"][0]["content"] == "(empty)"
