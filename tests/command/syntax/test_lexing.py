"""Words out of shell code: quotes, escapes and expansions."""

import pytest

from toolgate.command.syntax import Grammar, Lexeme, Part, UnparsableError
from toolgate.command.syntax.lexing import MAX_DEPTH, MAX_PIECES


def read(text: str) -> Lexeme:
    return Grammar(text).word()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a'b c'd", "ab cd"),
        ('a"b\\"c"', 'ab"c'),
        ('"a\\b"', "a\\b"),
        ("a\\ b", "a b"),
        ("a\\\nb", "ab"),
        ("$'a\\'b'", "a'b"),
        ('$"a"', "a"),
        ("a$", "a$"),
    ],
)
def test_quotes_and_escapes_have_the_value_that_bash_gives_them(text: str, value: str) -> None:
    parts = read(text).parts or ()
    assert {part.kind for part in parts} <= {"bare", "quoted"}
    assert "".join(part.text for part in parts) == value


@pytest.mark.parametrize("end", [" b", "\tb", ";b", "|b", "&b", ")", "<b", ">b", "\n"])
def test_a_word_ends_at_a_blank_or_an_operator(end: str) -> None:
    assert read(f"a{end}").raw == "a"


@pytest.mark.parametrize("text", ["$((1 + (2 * 3)))", "$[1 + a[2]]", "${x:-${y}}"])
def test_expressions_may_contain_their_own_brackets(text: str) -> None:
    word = read(f"{text}b")
    assert word.raw == f"{text}b"
    assert [part.kind for part in word.parts or ()] == ["expression", "bare"]


@pytest.mark.parametrize("text", ["$(ls)", "`ls`", "<(ls)", ">(ls)"])
def test_a_substitution_holds_its_commands(text: str) -> None:
    (part,) = read(text).parts or ()
    assert part.kind == "run"
    assert part.feeds is text.startswith(">")
    assert part.code is not None
    assert part.code.statements == Grammar("ls").program().statements


def test_a_name_in_braces_is_a_variable() -> None:
    assert read("${x}").parts == (Part("variable", "x"),) == read("$x").parts


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'a", "a single quote is not closed"),
        ("$'a", "a single quote is not closed"),
        ('"a', "a double quote is not closed"),
        ("`a", "a backquote is not closed"),
        ("$(a", "a bracket is not closed"),
        ("${a", "'${' is not closed"),
        ("$((1)", "'((' is not closed"),
        ("$((1))))", None),
        ("$[1", "'$[' is not closed"),
        ("a\\", "it ends with a backslash, as if another line followed"),
        ("$((`rm x`))", None),
        ("$(( '$(rm x)' ))", "it evaluates quoted text that contains code"),
        ("$[ '`rm x`' ]", "it evaluates quoted text that contains code"),
        ("a+(b)", "it has an extended pattern"),
    ],
)
def test_what_is_not_closed_or_cannot_be_followed_is_an_error(text: str, problem: str | None) -> None:
    if problem is None:
        read(text)
        return
    with pytest.raises(UnparsableError) as caught:
        read(text)
    assert str(caught.value) == problem


def test_nesting_and_pieces_have_limits() -> None:
    with pytest.raises(UnparsableError, match="nested too deeply"):
        read("$(" * (MAX_DEPTH + 1))
    with pytest.raises(UnparsableError, match=str(MAX_PIECES)):
        read("''" * (MAX_PIECES + 1))
