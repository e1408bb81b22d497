"""The words of a command as options, their values, and operands."""

import pytest

from toolgate.command.analysis.options import Options, attached_value, has, operands, option_values, read_options
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


@pytest.mark.parametrize(("command", "values"), [("x -ofile", ["file"]), ("x -vofile", []), ("x -o=", [""])])
def test_letters_do_not_cluster_if_no_option_is_known_to_have_a_value(command: str, values: list[str]) -> None:
    assert [word.text for word in option_values(words(command), {"-o"})] == values


@pytest.mark.parametrize(
    ("command", "values"), [("x -vofile", ["file"]), ("x -vo file", ["file"]), ("x -Cofile", []), ("x -C -o a", ["a"])]
)
def test_everything_that_may_be_a_value_is_found(command: str, values: list[str]) -> None:
    assert [word.text for word in option_values(words(command), {"-o"}, {"-C"})] == values


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("x -o a b", [("-o", "a"), ("", "b")]),
        ("x -oa --out=b --out c", [("-o", "a"), ("--out", "b"), ("--out", "c")]),
        ("x -vo a -v -", [("-o", "a"), ("", "-")]),
        ("x -io a", [("", "a")]),
        ("x -o -o a", [("-o", "-o"), ("", "a")]),
        ("x -o=a -- -o b", [("-o", "=a"), ("", "-o"), ("", "b")]),
        ("x --other a -o", [("", "a"), ("-o", "")]),
    ],
)
def test_options_are_read_as_the_program_reads_them(command: str, read: list[tuple[str, str]]) -> None:
    given = read_options(words(command), {"-o", "--out"}, {"-v"})
    assert [(option, word.text) for option, word in given] == read
