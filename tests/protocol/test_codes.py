"""Every error code has one category."""

from toolgate.protocol.codes import FAILURE_CATEGORY, ErrorCode


def test_a_code_is_its_own_name() -> None:
    assert [code for code in ErrorCode if code.value != code.name] == []


def test_everything_that_somebody_refused_is_denied() -> None:
    denied = {code for code, category in FAILURE_CATEGORY.items() if category == "denied"}

    assert denied == {code for code in ErrorCode if code.name.endswith("_DENIED")}


def test_a_code_is_found_by_its_text() -> None:
    assert FAILURE_CATEGORY[ErrorCode("TIMEOUT")] == "timeout"
    assert {ErrorCode.TIMEOUT: 1}["TIMEOUT"] == 1  # type: ignore[index]
