"""Where hunks go."""

import re
import time

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


def test_many_hunks_are_placed_without_searching_all_lines_for_each() -> None:
    numbers = range(0, 50_000, 20)
    text = "".join(f"line {number}\n" for number in range(50_000))
    lines = [part for n in numbers for part in (f"@@ line {n}", f"-line {n + 1}", f"+changed {n + 1}")]
    begin = time.process_time()

    made = applied(text, *lines).splitlines()

    assert [made[n + 1] for n in numbers] == [f"changed {n + 1}" for n in numbers]
    assert len(made) == 50_000
    assert time.process_time() - begin < 5, "one search through all lines per hunk takes a quarter of a minute"


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.integers(0, 11))
def test_a_place_is_the_same_before_and_after_the_lines_were_written_down(before: list[str], at: int) -> None:
    """The first eight searches look through the lines, later ones look them up."""
    text = "".join(f"u{n}\nv\n" for n in range(12)) + "".join(f"{line}\n" for line in before) + "end\n"
    many = [part for n in range(12) for part in (f"@@ u{n}", "-v", f"+w{n}")]
    outcomes = []
    for lines in (["@@", f"-{before[at % len(before)]}", "+X"], [*many, "@@", f"-{before[at % len(before)]}", "+X"]):
        try:
            outcomes.append(
                applied(text, *lines).partition("w11\n")[2] or applied(text, *lines).partition("u11\nv\n")[2]
            )
        except ToolError as error:
            outcomes.append(re.sub(r"Hunk \d+|line \d+ of", "", error.message))
    assert outcomes[0] == outcomes[1]
