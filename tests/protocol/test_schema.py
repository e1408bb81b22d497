"""The schema of the envelope says the same as the envelope's own validation."""

from typing import Any

import jsonschema_rs
import pytest

from toolgate.protocol.schema import envelope_schema

VALIDATOR = jsonschema_rs.validator_for(envelope_schema())
GOOD: dict[str, Any] = {
    "status": "success",
    "data": {},
    "text": "done",
    "stats": {"time_ms": 1},
    "context": {"cwd": ".", "params_input": {}},
}
ERROR = {"code": "NOT_FOUND", "message": "no"}


@pytest.mark.parametrize(
    "change", [{}, {"status": "partial", "data": {"truncated": True}}, {"status": "error", "error": ERROR}]
)
def test_what_is_an_envelope_fits(change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid({**GOOD, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"status": "error"},
        {"error": ERROR},
        {"data": {"truncated": True}},
        {"data": {"applied": False}},
        {"data": {"fallback": "x"}},
        {"stats": {}},
        {"context": {"cwd": "."}},
        {"status": "error", "error": {"code": "OTHER", "message": "no"}},
        {"more": 1},
    ],
)
def test_what_contradicts_itself_does_not(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**GOOD, **change})
