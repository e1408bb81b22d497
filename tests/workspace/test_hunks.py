"""Where hunks go."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.errors import ToolError
from toolgate.workspace import Stop
from toolgate.workspace.hunks import apply_hunks
from toolgate.workspace.patch import Hunk, parse_patch


def hunks_of(*lines: str) -> tuple[Hunk, ...]:
    return parse_patch("\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"]))[0].hunks


def applied(text: str, *lines: str) -> str:
    return apply_hunks(Stop(), text, hunks_of(*lines), "f")


def test_an_anchor_that_repeats_is_resolved_by_the_hunk() -> None:
    text = "def m():\n  a\ndef m():\n  b\ndef m():\n  c\n"

    assert applied(text, "@@ def m():", "-  b", "+  B") == text.replace("b", "B")


def test_an_anchor_and_a_hunk_that_both_repeat_are_ambiguous() -> None:
    text = "def m():\n  a\ndef m():\n  a\n"
    with pytest.raises(ToolError, match=re.escape("fits at 2 places, at lines 2, 4")) as raised:
        applied(text, "@@ def m():", "-  a", "+  A")

    assert raised.value.data["positions"] == [{"line": 2}, {"line": 4}]


def test_the_first_place_below_a_unique_anchor_is_meant() -> None:
    text = "x\nhere\nx\nx\n"

    assert applied(text, "@@ here", "-x", "+y") == "x\nhere\ny\nx\n"


def test_an_anchor_may_be_the_first_line_of_its_hunk() -> None:
    assert applied("a\nb\n", "@@ a", " a", "-b", "+c") == "a\nc\n"


LINES = st.lists(st.sampled_from(["a", "b", "", " c", "d\t"]), min_size=1, max_size=12)


@given(before=LINES, after=LINES, ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=12, max_size=12))
def test_a_hunk_of_the_whole_file_makes_the_other_file(before: list[str], after: list[str], ends: list[str]) -> None:
    text = "".join(line + end for line, end in zip(before, ends, strict=False))
    new = applied(text, "@@", *(f"-{line}" for line in before), *(f"+{line}" for line in after))

    assert re.split("\r?\n", new) == [*after, ""]


@given(before=LINES, ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=12, max_size=12), last=st.booleans())
def test_lines_that_stay_keep_every_byte(before: list[str], ends: list[str], last: bool) -> None:
    text = "".join(line + end for line, end in zip(before, ends, strict=False)) + ("" if last else "z")
    whole = [*before, *([] if last else ["z"])]
    new = applied(text, "@@", "+top", *(f" {line}" for line in whole))

    assert new[new.index("\n") + 1 :] == text
