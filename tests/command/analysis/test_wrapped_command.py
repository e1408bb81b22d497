"""The command that a wrapper runs."""

import pytest

from tests.command.analysis.kit import dangers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("timeout 5 ls", ""),
        ("timeout 5 rm x", "'rm': it removes files"),
        ("timeout --foreground -k 3 5 rm x", "'rm': it removes files"),
        ("env -i A=1 rm x", "'rm': it removes files"),
        ("nice -n 5 rm x", "'rm': it removes files"),
        ("setarch x86_64 rm x", "'rm': it removes files"),
        ("setarch -R rm x", "'rm': it removes files"),
        ("setarch -R ls", ""),
        ("nohup rm x", "'rm': it removes files"),
        ("command -v rm", ""),
        ("watch 'rm x'", "'rm': it removes files"),
        ("docker exec box rm x", "'rm': it removes files; 'docker': it removes files"),
    ],
)
def test_the_command_behind_the_options_of_a_wrapper_is_judged(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("xargs grep x", ""),
        ("xargs rm", "'rm': it removes files"),
        ("xargs -I{} cp {} f", "it overwrites 'f', which exists"),
        ("parallel rm", "'rm': it removes files"),
        ("parallel", "'parallel' runs the commands that it reads"),
    ],
)
def test_words_that_are_read_are_added_to_the_command(command: str, reason: str) -> None:
    assert dangers(command) == reason
