"""`find` and `fd`: what they run, remove and write."""

import pytest

from tests.command.analysis.kit import dangers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("find . -name x", ""),
        ("find . -name x -delete", "it removes files"),
        ("find . -exec rm {} \\;", "'rm': it removes files"),
        ("find . -exec grep x {} +", ""),
        ("find . -fprint f", "it overwrites 'f', which exists"),
        ("find . -fprint new", ""),
        ("find / -delete", "'/' is outside the root; it removes files"),
        ("find / -name x", ""),
    ],
)
def test_actions_of_find_count(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("find $x $y", "what 'find' does is only known when it runs"),
        ("find . -name $x", ""),
    ],
)
def test_words_of_find_that_are_not_known_may_be_actions(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("fd x", ""),
        ("fd -x rm", "'rm': it removes files"),
        ("fd x --exec-batch rm", "'rm': it removes files"),
    ],
)
def test_fd_runs_what_follows_x(command: str, reason: str) -> None:
    assert dangers(command) == reason
