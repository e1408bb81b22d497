"""Redirections and heredocs."""

import pytest

from toolgate.command.syntax import Grammar, Redirect, Simple, UnparsableError


def redirects(text: str) -> list[Redirect]:
    command = Grammar(text).program().statements[0].pipelines[0].commands[0]
    assert isinstance(command, Simple)
    return command.redirects


def body(text: str) -> str | None:
    (redirect,) = redirects(text)
    assert redirect.heredoc is not None
    return redirect.heredoc.body


@pytest.mark.parametrize("operator", ["<", ">", ">>", ">|", ">&", "<&", "<>", "&>", "&>>", "<<<"])
def test_every_operator_has_a_target(operator: str) -> None:
    assert redirects(f"ls {operator} f") == [Redirect(operator, redirects("ls < f")[0].target)]


@pytest.mark.parametrize("text", ["2>&1", ">/dev/null", "2>/dev/null", "&>/dev/null", ">&2"])
def test_what_writes_no_file_has_no_operator(text: str) -> None:
    assert [redirect.operator for redirect in redirects(f"ls {text}")] == [""]


@pytest.mark.parametrize("descriptor", ["3", "12", "{fd}"])
def test_a_descriptor_may_stand_before_the_operator(descriptor: str) -> None:
    assert [(redirect.operator, redirect.target.raw) for redirect in redirects(f"ls {descriptor}> f")] == [(">", "f")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat <<E\na\n b\nE\n", "a\n b\n"),
        ("cat <<E\nE", ""),
        ("cat <<'E'\na\\\nb\nE\n", "a\\\nb\n"),
        ("cat <<E\na\\\nE\nE\n", "a\\\nE\n"),
        ("cat <<-E\n\ta\n\tE\n", "a\n"),
        ("cat <<-'E'\n\t\ta\nE\n", "a\n"),
    ],
)
def test_the_text_of_a_heredoc_is_what_bash_passes(text: str, expected: str) -> None:
    assert body(text) == expected


def test_heredocs_of_one_line_follow_in_order() -> None:
    found = redirects("cat <<A <<B\na\nA\nb\nB\n")
    assert [redirect.heredoc.body for redirect in found if redirect.heredoc is not None] == ["a\n", "b\n"]


def test_only_an_unquoted_heredoc_expands() -> None:
    (plain,) = redirects("cat <<E\n$x\nE\n")
    (quoted,) = redirects("cat <<'E'\n$x\nE\n")
    assert plain.heredoc is not None
    assert quoted.heredoc is not None
    assert [part.kind for part in plain.heredoc.parts] == ["variable", "quoted"]
    assert quoted.heredoc.parts == ()


@pytest.mark.parametrize("text", ["cat <<E\na", "cat <<-E\na\\\nE\n", "cat <<'E'\n E\n"])
def test_a_heredoc_without_its_last_line_is_an_error(text: str) -> None:
    with pytest.raises(UnparsableError, match="not closed by a line 'E'"):
        Grammar(text).program()


def test_the_delimiter_is_a_plain_word() -> None:
    with pytest.raises(UnparsableError, match="not a plain word"):
        Grammar("cat <<$x\na\n$x\n").program()
