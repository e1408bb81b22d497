"""Models that are built without validation are the same as validated ones."""

import pytest
from pydantic import ValidationError

from toolgate.protocol.record import Decision
from toolgate.protocol.unvalidated import maker, trusted

FIELDS = {"decision": "allow", "gate": "mode", "rule": "", "reason": "because"}


@pytest.mark.parametrize("made", [trusted(Decision, dict(FIELDS)), maker(Decision)(dict(FIELDS))])
def test_an_instance_is_equal_to_a_validated_one_and_just_as_frozen(made: Decision) -> None:
    assert made == Decision.model_validate(FIELDS)
    assert made.model_dump() == FIELDS
    assert made.model_dump_json() == Decision.model_validate(FIELDS).model_dump_json()
    with pytest.raises(ValidationError, match="frozen"):
        made.reason = "other"


def test_a_copy_of_a_trusted_instance_can_be_changed() -> None:
    made = trusted(Decision, dict(FIELDS))

    assert made.model_copy(update={"reason": "x"}).reason == "x"
    assert made.reason == "because"
