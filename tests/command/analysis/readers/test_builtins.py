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


@pytest.mark.parametrize(
    "command",
    [
        "BASH_CMDS[ls]=/bin/rm; ls x",
        "BASH_CMDS=([ls]=/bin/rm)",
        "declare BASH_CMDS[ls]=/bin/rm",
        "declare 'BASH_CMDS[ls]=/bin/rm'",
        "declare -n z='BASH_CMDS[ls]'",
        "declare -n z=BASH_CMDS",
        "printf -v 'BASH_CMDS[ls]' /bin/rm",
        "read 'BASH_CMDS[ls]' <<< /bin/rm",
        ": ${BASH_CMDS[ls]:=/bin/rm}",
        "BASH_ALIASES[ls]='rm x'",
    ],
)
def test_the_table_of_what_command_words_mean_is_asked_about(command: str) -> None:
    assert "changes what commands run" in dangers(command)


@pytest.mark.parametrize("command", ["declare -A m; m[a]=1", "declare 'a[0]=1'", "declare -n z=a", "read 'a[0]'"])
def test_control_other_arrays_are_set_freely(command: str) -> None:
    assert dangers(command) == ""


@pytest.mark.parametrize(
    "command", ["mapfile -C'rm x' a", "mapfile -tC 'rm x' a", "readarray -c1 -tC'rm x' a", "mapfile -tc1 -C 'rm x' a"]
)
def test_what_mapfile_runs_counts_however_the_option_is_written(command: str) -> None:
    assert dangers(command) == "'rm': it removes files"


@pytest.mark.parametrize("command", ["mapfile -t a", "mapfile -n 5 -O 1 a", "readarray -d '' a"])
def test_control_mapfile_that_runs_nothing_does_not_ask(command: str) -> None:
    assert dangers(command) == ""


@pytest.mark.parametrize("command", ["set -k", "set -ek", "set -o keyword", "shopt -so keyword", "bash -kc ls"])
def test_an_option_that_makes_words_assignments_asks(command: str) -> None:
    assert "changes what words mean" in dangers(command)


@pytest.mark.parametrize("command", ["set -euo pipefail", "set -- -k", "set +k", "shopt -s nullglob"])
def test_control_other_options_of_the_shell_do_not_ask(command: str) -> None:
    assert dangers(command) == ""
