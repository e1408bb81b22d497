"""Builtins of the shell: directories, variables and words that bash evaluates."""

import pytest

from tests.command.analysis.kit import dangers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cd src && cat ../f", ""),
        ("cd src && cat ../../f", "'../../f' is outside the root"),
        ("mkdir d && cd d && cat ../f", ""),
        ("cd nothere; cat ../f", "'../f' is outside the root"),
        ("cd - && cat f", ""),
        ("cd - && cat ../f", "'../f' is outside the root"),
    ],
)
def test_the_directory_is_followed(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("read x", ""),
        ("mapfile -C 'rm x' a", "'rm': it removes files"),
        ('declare "$x=1"', "'declare' sets a variable that is only known when it runs"),
        ("compgen -A command", ""),
        ("compgen -C 'rm x'", "'compgen' may run a command"),
    ],
)
def test_code_in_a_word_that_bash_evaluates_asks(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize("command", ["read 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' x", "let 'a[$(rm x)]=1'"])
def test_a_subscript_with_code_asks(command: str) -> None:
    assert "it evaluates ''a[$(rm x)]" in dangers(command)
