"""The files that a result refers to."""

from typing import Any

import pytest

from toolgate.protocol.references import references


def test_the_whole_output_comes_first_and_then_the_streams() -> None:
    data = {"truncation": {"full_output_path": "a"}, "full_output": {"stderr": "c", "stdout": "b"}}

    assert list(references(data).items()) == [("whole", "a"), ("stdout", "b"), ("stderr", "c")]


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        {},
        {"truncation": True},
        {"truncation": {"full_output_path": None}},
        {"full_output": ["a"]},
        {"full_output": {"stdout": 7, "other": "x"}},
    ],
)
def test_whatever_else_a_tool_says_refers_to_nothing(data: Any) -> None:
    assert references(data) == {}
