"""Text from elsewhere cannot play tricks on the person who reads it (A07, A09)."""

import pytest

from toolgate.cli.visible import collapse_runs, excerpt, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, é and 漢字", "plain text, é and 漢字"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("rm x\rls", "rm x\\rls"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\x9b31m\x7f\x00", "\\x9b31m\\x7f\\x00"),
        ("a\u00a0b\u3000c", "a\\xa0b\\u3000c"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("a\tb\nc", "a\tb\nc"),
    ],
)
def test_a09_what_hides_or_moves_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_on_one_line_breaks_are_escaped_too() -> None:
    assert visible("a\nb\tc", keep="") == "a\\nb\\tc"


def test_a07_a_long_run_of_spaces_becomes_its_count() -> None:
    assert collapse_runs("ls" + " " * 5000 + "; rm x") == "ls ⟨5000 blanks⟩ ; rm x"


def test_a07_many_empty_lines_become_their_count() -> None:
    assert collapse_runs("ls" + "\n" * 5000 + "rm x") == "ls\n⟨5000 line breaks, 5000 characters of blank space⟩\nrm x"


def test_indentation_stays() -> None:
    assert collapse_runs("def f():\n\n\n" + " " * 40 + "return") == "def f():\n\n\n" + " " * 40 + "return"


def test_an_excerpt_keeps_both_ends_and_counts_the_rest() -> None:
    text = "\n".join(map(str, range(100)))

    assert excerpt(text, lines=4, width=80) == ("0\n1\n⟨96 lines left out⟩\n98\n99", True)


def test_an_excerpt_clips_long_lines_in_the_middle() -> None:
    assert excerpt("a" * 50 + "b" * 50, lines=4, width=10) == ("aaaaa⟨90 characters left out⟩bbbbb", True)


def test_an_excerpt_of_something_short_is_all_of_it() -> None:
    assert excerpt("one\ntwo", lines=4, width=10) == ("one\ntwo", False)
