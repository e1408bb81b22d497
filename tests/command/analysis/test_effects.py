"""What the facts of the table say about one command."""

import pytest

from toolgate.command.analysis import analyse
from toolgate.command.analysis.effects import find_reader
from toolgate.command.analysis.program import every_program, program


def test_every_reader_exists() -> None:
    readers = {program(name).reader for name in every_program()} - {""}
    assert len(readers) > 30
    assert [name for name in readers if not callable(find_reader(name))] == []


@pytest.mark.parametrize(
    "command", ["git -C", "git --work-tree", "git -c", "curl -o", "timeout -s", "sort -o", "docker"]
)
def test_an_option_without_its_value_is_no_error(command: str) -> None:
    assert analyse(command).commands[0] == tuple(command.split())


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("hg update -C", "'hg': it discards work"),
        ("hg update", ""),
        ("hostname", ""),
        ("hostname box", "'hostname': it changes the system outside the root"),
        ("ifconfig eth0", ""),
        ("ifconfig eth0 down", "'ifconfig': it changes the system outside the root"),
        ("rsync --delete-after a b", "'rsync': it removes files"),
        ("rsync --delete-after -n a b", ""),
        ("npm publish", "'npm': it publishes"),
        ("npm publish --dry-run", ""),
        ("systemctl status x", ""),
        ("systemctl stop x", "'systemctl': it changes the system outside the root"),
        ("kill -l", ""),
        ("kill 1", "'kill': it sends signals to processes"),
        ("git stash drop", "it discards stashed work"),
        ("git stash push -m drop", ""),
        ("git tag -mfix-dates v1", ""),
        ("git reset --hard HEAD~1", "it takes commits off the branch; it discards uncommitted work"),
    ],
)
def test_a_rule_applies_to_the_words_that_it_names(command: str, reason: str) -> None:
    assert analyse(command).reason == reason
