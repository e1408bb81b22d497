"""Unified diffs."""

import difflib
import time

from hypothesis import given
from hypothesis import strategies as st

from toolgate.workspace.diff import Diff, _grouped, opcodes, split_lines

LINES = st.lists(st.sampled_from("abcdefg"), max_size=30)


def diff_of(old: str, new: str, limit: int = 10**6) -> Diff:
    diff = Diff("f", limit)
    diff.compare(old, new)
    return diff


def test_a_change_is_shown_with_three_lines_around_it() -> None:
    old = "".join(f"{number}\n" for number in range(1, 12))
    diff = diff_of(old, old.replace("6\n", "six\n"))

    assert diff.text == "--- a/f\n+++ b/f\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"
    assert (diff.added, diff.removed) == (1, 1)


def test_nothing_changed_is_an_empty_diff() -> None:
    assert diff_of("a\n", "a\n").text == ""


def test_a_created_file_comes_from_nowhere() -> None:
    diff = Diff("f", 100, created=True)
    diff.compare("", "a\n")

    assert diff.text == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"


def test_a_missing_newline_at_the_end_is_said() -> None:
    assert diff_of("a", "a\n").text == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"


def test_a_cut_diff_says_how_much_is_missing() -> None:
    diff = diff_of("", "x\n" * 100, limit=20)

    assert diff.text.endswith("more lines\n")
    assert diff.hidden > 80
    assert diff.added == 100


def test_a_shorter_diff_ends_at_a_line() -> None:
    diff = diff_of("", "x\n" * 100)

    assert diff.shorter(40) == "--- a/f\n+++ b/f\n@@ -0,0 +1,100 @@\n+x\n+x\n… diff cut here: 98 more lines\n"
    assert diff.shorter(10**6) == diff.text


@given(LINES, LINES)
def test_opcodes_turn_the_old_text_into_the_new_one(old: list[str], new: list[str]) -> None:
    built: list[str] = []
    position = 0
    for a, b, c, d in opcodes(old, new):
        assert a >= position
        built += [*old[position:a], *new[c:d]]
        position = b
    assert built + old[position:] == new


@given(LINES, LINES)
def test_the_same_hunks_as_the_standard_library_where_lines_are_unique(old: list[str], new: list[str]) -> None:
    """Not always the same diff, but one that is as good: no more lines are touched than there are."""
    text = diff_of("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)).text
    expected = list(difflib.unified_diff(old, new, lineterm=""))

    assert bool(text) == bool(expected)


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "ab\n", "\n", "a\r\n", "\r", "a"]), max_size=24).map("".join)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_what_both_texts_begin_and_end_with_makes_no_difference(begin: str, old: str, new: str, end: str) -> None:
    """The diff is that of all lines, although only the changed ones and the lines around them are compared."""
    before, after = begin + old + end, begin + new + end
    whole = Diff("f", 10**6)
    for group in _grouped(opcodes(split_lines(before), split_lines(after))):
        whole._hunk(split_lines(before), split_lines(after), group, 1, 1)

    diff = diff_of(before, after)
    assert (diff.text, diff.added, diff.removed) == (whole.text, whole.added, whole.removed)


def test_repetitive_texts_do_not_take_for_ever() -> None:
    begin = time.process_time()
    diff_of("a\nb\n" * 20_000, "b\na\na\n" * 20_000)

    assert time.process_time() - begin < 5


def test_only_newlines_split() -> None:
    assert split_lines("a\x0cb\u2028c\r\nd") == ["a\x0cb\u2028c\r\n", "d"]
