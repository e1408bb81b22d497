"""Variables that change what a command runs."""

import pytest

from tests.command.analysis.kit import dangers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("A=1 ls", ""),
        ("LD_PRELOAD=x ls", "'LD_PRELOAD' changes what commands run"),
        ("LD_PRELOAD=x ./own", ""),
        ("PAGER='rm x' ls", "'rm': it removes files"),
        ("PS1='$(rm x)'", "'PS1' runs what is in it when a shell shows it"),
        ("PS1=x", ""),
        ('EDITOR="$x" git log', "'EDITOR' names a command that is only known when it runs"),
    ],
)
def test_variables_that_change_what_runs_ask(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("PATH=$PATH:/x ls", ""),
        ("PATH=/x ls", "'PATH' is changed for 'ls', which may then be another program"),
        ("export PATH=/x; ls", "'PATH' is changed before 'ls', which may then be another program"),
        ("export PATH=/x; ./own", ""),
    ],
)
def test_a_path_in_front_of_the_old_one_may_replace_every_command(command: str, reason: str) -> None:
    assert dangers(command) == reason
