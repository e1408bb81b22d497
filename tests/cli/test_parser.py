"""The argument parser: one-line errors, and options that several commands share."""

from pathlib import Path

import pytest

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import Parser, add_json, add_mode, add_model, add_root
from toolgate.protocol.choices import PROVIDERS


@pytest.fixture
def parser() -> Parser:
    parser = Parser(prog="toolgate x")
    add_mode(parser, default="chat_safe")
    add_root(parser)
    add_model(parser)
    add_json(parser, "the list")
    return parser


def test_the_defaults(parser: Parser) -> None:
    assert vars(parser.parse_args([])) == {"mode": "chat_safe", "root": None, "model": None, "json": False}


def test_every_option_is_read(parser: Parser) -> None:
    given = parser.parse_args(["--mode", "coding", "--root", "a/b", "--model", "m", "--json"])
    assert vars(given) == {"mode": "coding", "root": Path("a/b"), "model": "m", "json": True}


@pytest.mark.parametrize("arguments", [["--mode", "root"], ["--frob"], ["--root"]])
def test_a_mistake_is_one_line_that_names_the_help(parser: Parser, arguments: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parser.parse_args(arguments)
    assert str(caught.value).endswith("(see toolgate x --help)")
    assert "\n" not in str(caught.value)


@pytest.fixture
def call(parser: Parser) -> Parser:
    parser.add_argument("name")
    parser.add_argument("arguments", nargs="*", default=[])
    return parser


@pytest.mark.parametrize(
    ("words", "arguments", "json"),
    [
        (["Bash"], [], False),
        (["Bash", "--json", "a", "b"], ["a", "b"], True),
        (["--json", "Bash", "a"], ["a"], True),
        (["Bash", "a", "--mode", "coding", "b", "--json"], ["a", "b"], True),
        (["Bash", "--json", "--", "ls", "-la", "--json"], ["ls", "-la", "--json"], True),
        (["Bash", "git", "--", "checkout", "--", "a"], ["git", "checkout", "--", "a"], False),
        (["--json", "--", "Bash", "a", "--mode"], ["a", "--mode"], True),
    ],
)
def test_options_stand_anywhere_before_two_dashes(
    call: Parser, words: list[str], arguments: list[str], json: bool
) -> None:
    given = call.parse_args(words)

    assert (given.name, given.arguments, given.json) == ("Bash", arguments, json)


def test_an_argument_that_looks_like_an_option_says_how_to_write_it(call: Parser) -> None:
    with pytest.raises(UsageError, match=r"^unrecognized arguments: -la; put -- before arguments that begin with a d"):
        call.parse_args(["Bash", "ls", "-la"])


def test_the_help_of_the_model_names_every_provider(parser: Parser) -> None:
    text = parser.format_help()
    assert [name for name in PROVIDERS if name not in text] == []
