"""An envelope as it leaves the runtime: whole, valid JSON and valid Unicode."""

import json
import math

import pytest

from toolgate import ErrorCode, ToolResponse
from toolgate.protocol.completion import UnusableResponseError, complete, refused


def completed(response: ToolResponse, arguments: object = None, *, shown: bool = True) -> tuple[ToolResponse, str]:
    return complete(response, arguments=arguments, milliseconds=1.5, data_is_shown=shown)


def test_every_field_is_filled_in() -> None:
    response, data = completed(ToolResponse.success({"a": 1}, "done"), {"b": 2})
    assert response.stats == {"time_ms": 1.5}
    assert response.context == {"cwd": ".", "params_input": {"b": 2}}
    assert json.loads(data) == {"a": 1}


def test_a_refusal_is_complete_from_the_start() -> None:
    arguments = '{"a": '
    once = refused(ErrorCode.INVALID_PARAM, "no", arguments=arguments, milliseconds=1.5)
    usual, _ = completed(ToolResponse.failure(ErrorCode.INVALID_PARAM, "no"), arguments)
    assert once == usual
    assert once.to_json() == usual.to_json()


def test_what_the_tool_says_about_its_directory_stays() -> None:
    response, _ = completed(ToolResponse.success({}, "done", stats={"n": 1}, context={"cwd": "src"}))
    assert response.stats == {"n": 1, "time_ms": 1.5}
    assert response.context == {"cwd": "src", "params_input": None}


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, b"bytes"])
def test_what_json_cannot_say_is_unusable(value: object) -> None:
    with pytest.raises(UnusableResponseError, match="what JSON cannot express"):
        completed(ToolResponse.success({"a": value}, "done"))


def test_an_envelope_that_contradicts_itself_is_unusable() -> None:
    lie = ToolResponse.success({}, "done").model_copy(update={"data": {"truncated": True}})
    with pytest.raises(UnusableResponseError, match="never validated"):
        completed(lie)


def test_lone_surrogates_are_replaced_in_every_text() -> None:
    response, data = completed(ToolResponse.success({"a": "\udfff"}, "done \ud800"), "\ud800")
    assert (response.text, response.data) == ("done \ufffd", {"a": "\ufffd"})
    assert response.context["params_input"] == "\ufffd"
    assert (data + response.to_json()).encode()


def test_lone_surrogates_are_replaced_in_an_error() -> None:
    response, _ = completed(ToolResponse.failure(ErrorCode.NOT_FOUND, "no \ud800"))
    assert response.error is not None
    assert (response.error.message, response.text) == ("no \ufffd", "no \ufffd")


def test_texts_that_are_not_shown_are_not_written_twice() -> None:
    response, data = completed(ToolResponse.success({"text": "long", "n": 1}, "done"), shown=False)
    assert json.loads(data) == {"text": "", "n": 1}
    assert response.data == {"text": "long", "n": 1}
