"""The words of a command as options, their values, and operands."""

import pytest

from toolgate.command.analysis.options import Options, attached_value, has, operands, option_values
from toolgate.command.words import Word


def words(command: str) -> list[Word]:
    return [Word(text) for text in command.split()]


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("x -R", True),
        ("x -vR", True),
        ("x --recursive", True),
        ("x --recursive=yes", True),
        ("x --delete-after", True),
        ("x -v", False),
        ("x -- -R", False),
        ("x R", False),
    ],
)
def test_an_option_is_found_in_all_its_spellings(command: str, given: bool) -> None:
    assert Options.read(["-R", "--recursive", "--del*"]).given(words(command)) is given


def test_a_cluster_of_letters_only_holds_no_value() -> None:
    wanted = Options.read(["-D"])
    assert wanted.given(words("x -m1D"))
    assert not wanted.given(words("x -m1D"), only_letters=True)


def test_no_options_are_false() -> None:
    assert not Options.read([])
    assert not has(words("x -a"), "-b")


def test_operands_are_neither_options_nor_their_values() -> None:
    given = operands(words("x -o out a --flag b -- -c -"), {"-o"})
    assert [word.text for word in given] == ["a", "b", "-c", "-"]


@pytest.mark.parametrize(
    ("command", "values"), [("x -o a", ["a"]), ("x -o=a --out b", ["a", "b"]), ("x -o", [""]), ("x o", [])]
)
def test_the_value_of_an_option_follows_or_is_attached(command: str, values: list[str]) -> None:
    assert [word.text for word in option_values(words(command), {"-o", "--out"})] == values


@pytest.mark.parametrize(
    ("text", "value"),
    [("-ofile", "file"), ("-vofile", "file"), ("-o", ""), ("-Cofile", None), ("--out", None), ("o", None)],
)
def test_a_value_may_be_attached_to_a_letter_in_a_cluster(text: str, value: str | None) -> None:
    assert attached_value(text, {"-o"}, {"-C"}) == value
