"""Calls, results, definitions and denials as plain data."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from toolgate import (
    Approval,
    ApprovalRequest,
    Decision,
    ErrorCode,
    ToolCall,
    ToolDefinition,
    ToolDenied,
    ToolGroup,
    ToolMode,
    ToolResponse,
    ToolResult,
)

SUCCESS = ToolResponse.success({}, "done")
FAILURE = ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.")
DENIED = {
    "tool_name": "t",
    "call_id": "c",
    "mode": "chat_safe",
    "error_code": "MODE_DENIED",
    "message": "m",
    "next_action": "n",
}
SAMPLES: list[BaseModel] = [
    ToolCall(id="1", name="n", arguments="{}"),
    ToolDefinition(name="n", description="d", parameters={}),
    ToolDenied(**DENIED),
    ToolResult(tool_call_id="1", is_error=False, output="o", message="m", response=SUCCESS),
    Approval(allowed=True),
    ApprovalRequest(id="1", tool_name="t", call_id="c", summary="s", detail="d", fingerprint="f"),
    Decision(decision="allow", gate="mode", reason="r"),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_public_data_is_frozen_and_has_no_extra_fields(sample: BaseModel) -> None:
    field = next(iter(type(sample).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(sample, field, "other")
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(sample).model_validate({**dict(sample), "surprise": 1})


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_public_data_is_keyword_only(sample: BaseModel) -> None:
    with pytest.raises(TypeError):
        type(sample)("x")  # type: ignore[call-arg]  # what is tested


@pytest.mark.parametrize("arguments", [{}, None, 7])
def test_arguments_are_the_string_that_the_model_wrote(arguments: Any) -> None:
    with pytest.raises(ValidationError):
        ToolCall(id="1", name="n", arguments=arguments)


def test_a_result_is_an_error_exactly_when_its_response_is() -> None:
    for is_error, response in ((True, SUCCESS), (False, FAILURE)):
        with pytest.raises(ValidationError, match="is_error"):
            ToolResult(tool_call_id="1", is_error=is_error, output="o", message="m", response=response)


def test_a_result_as_a_dict_is_camel_case() -> None:
    result = ToolResult(
        tool_call_id="1", is_error=True, output="o", message="m", extras={"toolName": "t"}, response=FAILURE
    )
    assert result.to_dict() == {
        "toolCallId": "1",
        "isError": True,
        "output": "o",
        "message": "m",
        "extras": {"toolName": "t"},
    }


def test_extras_are_an_empty_object_by_default() -> None:
    result = ToolResult(tool_call_id="1", is_error=False, output="o", message="m", response=SUCCESS)
    assert result.extras == {}


@pytest.mark.parametrize("field", DENIED)
def test_a_denial_has_six_fields_and_none_is_empty(field: str) -> None:
    with pytest.raises(ValidationError):
        ToolDenied(**{**DENIED, field: ""})
    with pytest.raises(ValidationError):
        ToolDenied(**{key: value for key, value in DENIED.items() if key != field})


def test_a_denial_is_made_of_strings() -> None:
    assert {type(value) for value in ToolDenied(**DENIED).model_dump().values()} == {str}


def test_an_approval_is_a_plain_yes_or_no() -> None:
    assert Approval(allowed=False) == Approval(allowed=False, message="", remember=False)
    with pytest.raises(ValidationError):
        Approval()  # type: ignore[call-arg]  # what is tested


def test_modes_and_groups_are_a_closed_set() -> None:
    assert [mode.value for mode in ToolMode] == ["chat_safe", "coding"]
    assert [group.value for group in ToolGroup] == ["code", "memory", "world"]
