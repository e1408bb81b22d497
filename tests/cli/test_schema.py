"""`toolgate schema`: valid draft 2020-12, and the envelope's rules in it."""

import json
from typing import Any

import jsonschema_rs
import pytest

from tests.cli.conftest import Toolgate
from toolgate import ErrorCode, ToolResponse
from toolgate.protocol.schema import envelope_schema

FINISHED: dict[str, Any] = {"stats": {"time_ms": 1}, "context": {"cwd": ".", "params_input": {}}}
ERROR = {"code": "NOT_FOUND", "message": "gone"}


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(envelope_schema())


def test_it_prints_a_valid_schema(toolgate: Toolgate) -> None:
    code, out, err = toolgate("schema")

    assert (code, err) == (0, "")
    assert json.loads(out) == envelope_schema()
    assert jsonschema_rs.meta.is_valid(json.loads(out))


@pytest.mark.parametrize(
    "response",
    [
        ToolResponse.success({"applied": True, "truncated": False}, "done", **FINISHED),
        ToolResponse.partial({"applied": False, "truncated": True, "fallback": "python"}, "cut", **FINISHED),
        *[ToolResponse.failure(code, "no", **FINISHED) for code in ErrorCode],
    ],
)
def test_what_the_model_builds_fits(validator: jsonschema_rs.Draft202012Validator, response: ToolResponse) -> None:
    validator.validate(response.to_dict())


@pytest.mark.parametrize(
    "change",
    [
        {"status": "ok"},
        {"status": "error"},
        {"error": ERROR},
        {"error": None},
        {"status": "error", "error": None},
        {"status": "error", "error": "a string"},
        {"status": "error", "error": {"code": "ODD", "message": "x"}},
        {"status": "error", "error": {"code": "NOT_FOUND", "message": ""}},
        {"status": "error", "error": {**ERROR, "more": 1}},
        {"status": "partial", "error": ERROR},
        {"data": None},
        {"data": []},
        {"data": {"truncated": True}},
        {"data": {"applied": False}},
        {"data": {"fallback": "python"}},
        {"text": None},
        {"stats": {}},
        {"stats": {"time_ms": "fast"}},
        {"stats": {"time_ms": 1, "files": []}},
        {"context": {"cwd": "."}},
        {"context": {"params_input": {}}},
        {"extra": 1},
    ],
)
def test_what_breaks_a_rule_does_not(validator: jsonschema_rs.Draft202012Validator, change: dict[str, Any]) -> None:
    good = {"status": "success", "data": {}, "text": "done", **FINISHED}

    assert validator.is_valid(good)
    assert not validator.is_valid(good | change)


@pytest.mark.parametrize("key", ["status", "data", "text", "stats", "context"])
def test_every_key_is_required(validator: jsonschema_rs.Draft202012Validator, key: str) -> None:
    good = {"status": "success", "data": {}, "text": "done", **FINISHED}
    del good[key]

    assert not validator.is_valid(good)
