"""Pictures beside the envelope: the contract of the envelope stays as it was."""

import hashlib
import json

import pytest
from pydantic import ValidationError

from tests.support.pictures import png
from toolgate import Status, ToolResponse, ToolResult
from toolgate.protocol.content import ImageContent, StoredImage

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")


def test_no_document_of_an_envelope_has_the_key() -> None:
    response = ToolResponse.success({"a": 1}, "Done.", content=(PICTURE,))
    plain = ToolResponse.success({"a": 1}, "Done.")
    assert response.to_dict() == plain.to_dict() == response.model_dump(mode="json")
    assert response.to_json() == plain.to_json()
    assert "content" not in json.dumps(ToolResponse.model_json_schema()["properties"])


@pytest.mark.parametrize("content", [[{"type": "image"}], ["x"], "x", {}, None, [{"media_type": "image/png"}]])
def test_no_document_brings_pictures_along(content: object) -> None:
    with pytest.raises(ValidationError):
        ToolResponse.model_validate({"status": "success", "data": {}, "text": "", "content": content})


def test_a_result_has_the_pictures_of_its_envelope_and_its_wire_form_does_not() -> None:
    response = ToolResponse.partial({"truncated": True}, "Some.", content=(PICTURE,))
    result = ToolResult(tool_call_id="1", is_error=False, output="Some.", message="Some.", response=response)
    assert result.content == (PICTURE,)
    assert set(result.to_dict()) == {"toolCallId", "isError", "output", "message", "extras"}


def test_a_stored_picture_is_known_by_its_hash() -> None:
    stored = PICTURE.stored
    sha256 = hashlib.sha256(png()).hexdigest()
    assert stored == StoredImage(
        media_type="image/png", width=3, height=2, name="a.png", sha256=sha256, size=len(png())
    )
    assert StoredImage(**json.loads(json.dumps(stored.model_dump()))) == stored
    assert ImageContent.of(stored, png()) == PICTURE


@pytest.mark.parametrize(("size", "tokens"), [((1, 1), 85), ((1500, 1000), 2000), ((8000, 8000), 6400)])
def test_tokens_follow_the_pixels(size: tuple[int, int], tokens: int) -> None:
    picture = ImageContent(media_type="image/jpeg", width=size[0], height=size[1], data=b"")
    assert picture.tokens == tokens


def test_other_media_types_are_refused() -> None:
    with pytest.raises(ValidationError):
        ImageContent(media_type="image/svg+xml", width=1, height=1, data=b"")  # type: ignore[arg-type]


def test_the_builders_say_success_and_partial() -> None:
    assert ToolResponse.success({}, "", content=(PICTURE,)).status is Status.success
    assert ToolResponse.partial({}, "", content=(PICTURE,)).content == (PICTURE,)
