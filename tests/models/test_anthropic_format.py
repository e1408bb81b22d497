"""Conversations in the format of Anthropic's messages API."""

from base64 import b64encode

from tests.support.pictures import png
from toolgate.models.anthropic_format import conversation
from toolgate.protocol.content import ImageContent

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")
SOURCE = {"type": "base64", "media_type": "image/png", "data": b64encode(png()).decode()}
SHOWN = {"type": "image", "source": SOURCE}


def test_pictures_are_blocks_of_their_result() -> None:
    _, (turn,) = conversation([{"role": "tool", "tool_call_id": "1", "content": "text", "images": (PICTURE,)}])
    assert turn["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": [{"type": "text", "text": "text"}, SHOWN],
        }
    ]


def test_a_result_without_pictures_stays_text() -> None:
    _, (turn,) = conversation([{"role": "tool", "tool_call_id": "1", "content": ""}])
    assert turn["content"][0]["content"] == "(empty)"


def test_the_users_pictures_come_before_the_users_words() -> None:
    _, (turn,) = conversation([{"role": "user", "content": "What is this?", "images": (PICTURE,)}])
    assert turn == {"role": "user", "content": [SHOWN, {"type": "text", "text": "What is this?"}]}
    _, (turn,) = conversation([{"role": "user", "content": "", "images": (PICTURE,)}])
    assert turn["content"] == [SHOWN]
