"""Characters that hide or move are escaped, and long runs are counted."""

import pytest

from toolgate.text.visible import collapse_runs, visible


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


def test_a_long_text_of_ordinary_lines_stays_as_it_is() -> None:
    lines = "a\tb\n" * 1000
    assert visible(lines) == lines
    assert visible(lines + "\x07") == lines + "\\x07"
    assert visible(lines, keep="") == "a\\tb\\n" * 1000
