"""Records of calls are closed and frozen."""

from typing import Any

import pytest
from pydantic import ValidationError

from toolgate.protocol.record import CallRecord, Decision

RECORD = {"kind": "started", "session_id": None, "call_id": "c", "tool_name": "t"}


@pytest.mark.parametrize("change", [{"kind": "thought"}, {"extra": 1}, {"call_id": None}])
def test_what_is_no_record_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CallRecord.model_validate({**RECORD, **change})


def test_a_record_without_details_has_an_empty_payload_of_its_own() -> None:
    one, other = CallRecord.model_validate(RECORD), CallRecord.model_validate(RECORD)

    assert one.payload == {}
    assert one.payload is not other.payload


def test_a_decision_needs_a_reason_and_one_of_the_gates() -> None:
    with pytest.raises(ValidationError):
        Decision.model_validate({"decision": "allow", "gate": "luck", "reason": "x"})
    with pytest.raises(ValidationError):
        Decision.model_validate({"decision": "allow", "gate": "mode"})
