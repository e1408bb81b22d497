"""From words as they were typed to words as a command gets them."""

import pytest

from tests.command.analysis.kit import judged
from toolgate.command.analysis import UNRESOLVED


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("$HOME/a", "/home/user/a"),
        ("~/a", "/home/user/a"),
        ("'~/a'", "~/a"),
        ("$TMPDIR", "/tmp"),
        ("$PWD/f", "/project/f"),
        ("$(pwd)/f", "/project/f"),
        ("a$x", f"a{UNRESOLVED}"),
        ("$((1 + 2))", UNRESOLVED),
        ("$[1 + 2]", UNRESOLVED),
        ("$'a\\tb'", "a\tb"),
    ],
)
def test_a_word_has_the_value_that_the_session_gives_it(typed: str, words: str) -> None:
    assert ("echo", words) in judged(f"echo {typed}").commands


@pytest.mark.parametrize(
    ("command", "unresolved"),
    [
        ("echo '$x' '*'", ()),
        ("echo $x", ("'$x' may have another value",)),
        ("echo *.py", ("'*.py' stands for whatever matches it",)),
        ("echo ~bob", ("'~bob' stands for whatever matches it",)),
        ("echo {a,b}", ()),
        ("echo $(ls)", ("it uses what another command prints",)),
        ("echo ${x:=1}", ("it computes a value",)),
    ],
)
def test_what_a_word_depends_on_is_said(command: str, unresolved: tuple[str, ...]) -> None:
    assert judged(command).unresolved == unresolved


def test_the_commands_of_a_substitution_are_found() -> None:
    assert ("rm", "x") in judged('echo "a$(rm x)"').commands
    assert ("rm", "x") in judged("echo `rm x`").commands
    assert ("rm", "x") in judged("cat <(rm x)").commands
    assert ("rm", "x") in judged("echo ${y:-$(rm x)}").commands


def test_a_directory_that_is_changed_changes_what_pwd_stands_for() -> None:
    assert ("cat", "/project/src/f") in judged("cd src && cat $PWD/f").commands


@pytest.mark.parametrize("command", ["echo ${ rm x; }", "echo ${| rm x; }", 'echo "${ rm x; }"'])
def test_a_substitution_of_newer_shells_asks(command: str) -> None:
    assert "runs commands" in judged(command).reason


@pytest.mark.parametrize("command", ["1<> f echo x", "exec 3<> f; echo x >&3"])
def test_a_file_that_is_opened_to_read_and_write_is_overwritten(command: str) -> None:
    assert judged(command).reason == "it overwrites 'f', which exists"
