"""The envelope: it cannot contradict itself, and it has one form as a dict and as JSON."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from toolgate import ErrorCode, Status, ToolResponse
from toolgate.protocol.codes import FAILURE_CATEGORY
from toolgate.protocol.envelope import ErrorInfo

ERROR = {"code": "NOT_FOUND", "message": "Gone."}


def build(**fields: Any) -> ToolResponse:
    return ToolResponse.model_validate({"status": "success", "data": {}, "text": "done", **fields})


def test_the_codes_are_a_closed_set() -> None:
    assert set(ErrorCode) == {
        "NOT_FOUND",
        "ACCESS_DENIED",
        "PERMISSION_DENIED",
        "INVALID_PARAM",
        "TIMEOUT",
        "INTERNAL_ERROR",
        "EXECUTION_ERROR",
        "CONFLICT",
        "IS_DIRECTORY",
        "BINARY_FILE",
        "TOOL_NOT_FOUND",
        "MODE_DENIED",
        "APPROVAL_DENIED",
        "CANCELLED",
        "CIRCUIT_OPEN",
    }
    assert set(Status) == {"success", "partial", "error"}


def test_the_failure_categories_are_a_closed_set() -> None:
    allowed = {"command_not_found", "invalid_usage", "execution_error", "denied", "timeout", "cancelled"}
    assert set(FAILURE_CATEGORY.values()) <= allowed


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "ok"},
        {"status": "error"},
        {"status": "success", "error": ERROR},
        {"status": "partial", "error": ERROR},
        {"data": None},
        {"data": []},
        {"data": "x"},
        {"data": {1: 2}},
        {"text": None},
        {"text": 7},
        {"extra": 1},
        {"call_id": "x"},
        {"stats": None},
        {"stats": {"x": []}},
        {"stats": {"time_ms": "soon"}},
        {"context": {"cwd": 7}},
        {"context": {"cwd": None}},
        {"context": {"path_resolved": ["a"]}},
        {"context": None},
        {"status": "error", "error": "Error: x"},
        {"status": "error", "error": {"code": "NOPE", "message": "x"}},
        {"status": "error", "error": {"code": "NOT_FOUND", "message": ""}},
        {"status": "error", "error": {"code": "NOT_FOUND"}},
        {"status": "error", "error": {**ERROR, "hint": "x"}},
        {"data": {"truncated": True}},
        {"data": {"applied": False}},
        {"data": {"fallback": "python"}},
        {"data": {"fallback": None}},
    ],
)
def test_what_contradicts_itself_cannot_be_built(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        build(**fields)


@pytest.mark.parametrize("missing", ["status", "data", "text"])
def test_status_data_and_text_are_needed(missing: str) -> None:
    with pytest.raises(ValidationError):
        ToolResponse.model_validate({k: v for k, v in build().to_dict().items() if k != missing})


@pytest.mark.parametrize(
    "fields",
    [
        {"error": None},
        {"data": {"truncated": False, "applied": True}},
        {"status": "partial", "data": {"truncated": True, "applied": False, "fallback": "python"}},
        {"status": "error", "error": ERROR, "data": {"applied": False, "truncated": True, "fallback": "x"}},
        {"stats": {"time_ms": 1.5, "total": 3, "engine": "rg"}, "context": {"cwd": ".", "params_input": None}},
    ],
)
def test_what_agrees_with_itself_can(fields: dict[str, Any]) -> None:
    assert build(**fields).text == "done"


@pytest.mark.parametrize(
    "data", [{"truncated": True}, {"applied": False}, {"fallback": "python"}, None, [], "x", {1: 2}]
)
def test_the_builder_of_a_success_is_as_strict(data: Any) -> None:
    with pytest.raises(ValidationError):
        ToolResponse.success(data, "done")


@pytest.mark.parametrize("text", [None, 7])
def test_the_builders_want_text(text: Any) -> None:
    for builder in (ToolResponse.success, ToolResponse.partial):
        with pytest.raises(ValidationError):
            builder({}, text)


@pytest.mark.parametrize("message", ["", None, 7])
def test_a_failure_wants_a_message(message: Any) -> None:
    with pytest.raises(ValidationError):
        ToolResponse.failure(ErrorCode.NOT_FOUND, message, text="x")


def test_a_failure_wants_a_code_that_exists() -> None:
    with pytest.raises(ValidationError):
        ToolResponse.failure("NOPE", "x")  # type: ignore[arg-type]  # what is tested


def test_the_builders_give_the_same_as_the_constructor() -> None:
    assert ToolResponse.success({"a": 1}, "done") == build(data={"a": 1})
    assert ToolResponse.success({}, "done", stats={"n": 1}, context={"cwd": "."}) == build(
        stats={"n": 1}, context={"cwd": "."}
    )
    assert ToolResponse.partial({"a": 1}, "done") == build(status="partial", data={"a": 1})
    assert ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", text="done") == build(status="error", error=ERROR)


def test_the_text_of_a_failure_is_its_message_and_the_next_step() -> None:
    assert ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.").text == "Gone."
    assert ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", next_step="Look.").text == "Gone. Look."
    assert ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", text="All.", next_step="Look.").text == "All."


def test_it_is_frozen() -> None:
    with pytest.raises(ValidationError):
        build().text = "other"  # type: ignore[misc]  # what is tested


def test_it_is_keyword_only() -> None:
    build: Any = ToolResponse
    with pytest.raises(TypeError):
        build("success", {}, "done")


def test_as_a_dict_it_is_plain_json() -> None:
    response = ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", data={"n": 1}, stats={"time_ms": 1})
    document = response.to_dict()
    assert document == {
        "status": "error",
        "data": {"n": 1},
        "text": "Gone.",
        "error": {"code": "NOT_FOUND", "message": "Gone."},
        "stats": {"time_ms": 1},
        "context": {},
    }
    assert (type(document["status"]), type(document["error"]["code"])) == (str, str)


@pytest.mark.parametrize(
    "response",
    [
        ToolResponse.success({"a": [1, None, "é"]}, "done", stats={"time_ms": 1.5}, context={"cwd": "."}),
        ToolResponse.partial({"truncated": True}, "Half."),
        ToolResponse.failure(ErrorCode.TIMEOUT, "Late.", data={"x": 1}),
    ],
)
def test_it_survives_its_own_json(response: ToolResponse) -> None:
    assert ToolResponse.model_validate_json(response.to_json()) == response
    assert ToolResponse.model_validate(response.to_dict()) == response
    assert json.loads(response.to_json()) == response.to_dict() == json.loads(response.model_dump_json())


def test_json_is_compact_and_readable() -> None:
    assert ToolResponse.success({"a": "é"}, "漢").to_json() == (
        '{"status":"success","data":{"a":"é"},"text":"漢","stats":{},"context":{}}'
    )


def test_the_key_error_is_left_out_of_every_dump_unless_it_is_one() -> None:
    assert "error" not in build().to_dict()
    assert "error" not in build().model_dump()
    assert "error" not in json.loads(build().model_dump_json())


def test_parsing_accepts_a_null_error() -> None:
    assert ToolResponse.model_validate_json('{"status":"success","data":{},"text":"x","error":null}').error is None


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_json_never_holds_what_json_cannot_say(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        ToolResponse.success({"x": number}, "done").to_json()
    with pytest.raises(ValueError, match="JSON"):
        ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", data={"x": number}).to_json()


def test_a_copy_may_be_made() -> None:
    response = ToolResponse.success({"a": 1}, "done")
    assert response.model_copy() == response
    assert response.model_copy(update={"text": "other"}).text == "other"
    assert ErrorInfo(code=ErrorCode.NOT_FOUND, message="x") == ErrorInfo.model_validate(
        {"code": "NOT_FOUND", "message": "x"}
    )
