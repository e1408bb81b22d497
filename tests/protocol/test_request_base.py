"""Parameters of requests are strict, and an error shows none of them."""

import pytest
from pydantic import ValidationError

from toolgate.protocol.request_base import OfSession


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 101, "é", 7, None])
def test_what_is_no_id_is_refused_without_being_shown(name: object) -> None:
    with pytest.raises(ValidationError) as caught:
        OfSession.model_validate({"session_id": name})

    assert "input_value" not in str(caught.value)


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        OfSession.model_validate({"session_id": "s1", "mode": "coding"})
