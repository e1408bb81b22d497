"""Conversations in the format of OpenAI's chat API."""

from base64 import b64encode
from typing import Any

from tests.support.pictures import png
from toolgate.models.openai_format import messages_of
from toolgate.protocol.content import ImageContent

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")
SHOWN = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(png()).decode()}"}}


def answer(call_id: str, *images: ImageContent) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "tool", "tool_call_id": call_id, "content": "text"}
    return {**message, "images": images} if images else message


def test_pictures_follow_all_answers_of_a_round_in_a_message_of_the_user() -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}, {"id": "2"}]}
    made = messages_of([asked, answer("1", PICTURE), answer("2"), {"role": "assistant", "content": "ok"}])
    assert [message["role"] for message in made] == ["assistant", "tool", "tool", "user", "assistant"]
    assert made[1] == answer("1")
    assert made[3]["content"] == [
        {"type": "text", "text": "The pictures of the results above, in order: a.png"},
        SHOWN,
    ]
    assert made[0]["content"] is None


def test_pictures_at_the_end_of_a_request() -> None:
    made = messages_of([answer("1", PICTURE, PICTURE)])
    assert [message["role"] for message in made] == ["tool", "user"]
    assert made[1]["content"][1:] == [SHOWN, SHOWN]


def test_without_pictures_nothing_is_added() -> None:
    messages = [{"role": "user", "content": "hi"}, answer("1")]
    assert messages_of(messages) == messages


def test_the_users_pictures_are_in_the_users_message() -> None:
    made = messages_of([{"role": "user", "content": "What is this?", "images": (PICTURE,)}, answer("1", PICTURE)])
    assert made[0] == {"role": "user", "content": [{"type": "text", "text": "What is this?"}, SHOWN]}
    assert [message["role"] for message in made] == ["user", "tool", "user"]


def test_a_picture_without_words_has_no_blank_text() -> None:
    assert messages_of([{"role": "user", "content": " ", "images": (PICTURE,)}])[0]["content"] == [SHOWN]
