"""Output limits: no secret, no file of others, nothing too long."""

import pytest
from pydantic import SecretStr

from toolgate import ErrorCode, ToolContext, ToolResponse
from toolgate.runtime.limits import OutputLimits
from toolgate.settings import Settings


def limits(**model: object) -> tuple[OutputLimits, ToolContext]:
    context = ToolContext(settings=Settings.model_validate({"model": model}))
    return OutputLimits(context), context


def test_a_secret_is_masked_everywhere() -> None:
    found, _ = limits(api_key=SecretStr("sk-0123456789abcdef"))
    key = "sk-0123456789abcdef"
    response = ToolResponse.failure(
        ErrorCode.EXECUTION_ERROR, f"no {key}", data={"a": [key]}, context={"path_resolved": key}
    )
    masked, output = found.masked(response, f"output {key}")
    assert key not in output
    assert key not in masked.to_json()
    assert masked.error is not None
    assert masked.error.code is ErrorCode.EXECUTION_ERROR


def test_without_secrets_there_is_nothing_to_mask() -> None:
    found, _ = limits()
    assert found.secrets == ()


def test_an_output_that_the_runtime_did_not_write_is_not_named() -> None:
    found, context = limits()
    data = {
        "truncated": True,
        "truncation": {"full_output_path": "tool-output/x.txt"},
        "full_output": {"stdout": "y", "stderr": "z"},
    }
    context.state.kept_outputs.add("y")
    owned = found.owned(ToolResponse.partial(data, "cut"))
    assert owned.data["truncation"] == {"full_output_path": None}
    assert owned.data["full_output"] == {"stdout": "y"}


@pytest.mark.parametrize("data", [{}, {"a": 1}])
def test_a_response_that_names_no_output_is_left_alone(data: dict[str, int]) -> None:
    found, _ = limits()
    response = ToolResponse.success(data, "done")
    assert found.owned(response) is response
