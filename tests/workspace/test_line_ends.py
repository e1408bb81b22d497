"""Line ends of a file that is written as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.workspace.line_ends import keep_line_ends

TEXTS = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=8).map("\n".join)


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        ("a\r\nb\r\n", "a\nc\nb\n", "a\r\nc\r\nb\r\n"),
        ("a\nb\n", "a\nc\n", "a\nc\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\r\nb\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nx\nc\n", "a\r\nx\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nnew\nc\n", "a\r\nb\nnew\nc\r\n"),
        ("a\r\nb\nc\r\n", "b\nc\n", "b\nc\r\n"),
        ("a\r\nb\nc", "a\nb\nc\nd", "a\r\nb\nc\nd"),
        ("a\r\nb\n", "", ""),
        ("a\r\nb\n", "x\na\nb\n", "x\r\na\r\nb\n"),
    ],
)
def test_a_line_that_stays_keeps_its_end(old: str, new: str, made: str) -> None:
    assert keep_line_ends(old, new) == made


@given(TEXTS, TEXTS, st.integers(0, 2**8))
def test_only_line_ends_differ_from_what_was_asked_for(old: str, new: str, mask: int) -> None:
    parts = old.split("\n")
    mixed = "".join(line + ("\r\n" if mask >> place & 1 else "\n") for place, line in enumerate(parts[:-1])) + parts[-1]
    assert keep_line_ends(mixed, new).replace("\r\n", "\n") == new
    assert keep_line_ends(mixed, mixed.replace("\r\n", "\n")) == mixed
