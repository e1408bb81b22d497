"""Pictures of results in the bridges."""

from base64 import b64decode

from tests.support.pictures import png
from toolgate import ToolResponse, ToolResult
from toolgate.adapters.pictures import data_url, text_with_note
from toolgate.protocol.content import ImageContent

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")


def result(text: str, *pictures: ImageContent) -> ToolResult:
    response = ToolResponse.success({}, text, content=pictures)
    return ToolResult(tool_call_id="1", is_error=False, output=text, message=text, response=response)


def test_the_note_names_what_is_not_shown() -> None:
    assert text_with_note(result("fine")) == "fine"
    note = "[Not shown: a.png (3 × 2). Only text reaches this model]"
    assert text_with_note(result("fine", PICTURE)) == f"fine\n{note}"
    assert text_with_note(result("", PICTURE)) == note


def test_the_address_of_a_picture_contains_its_bytes() -> None:
    kind, _, text = data_url(PICTURE).partition(",")

    assert kind == "data:image/png;base64"
    assert b64decode(text) == PICTURE.data
