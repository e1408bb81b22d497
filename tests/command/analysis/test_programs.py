"""The table of programs: every row can be read, and says something."""

import re

import pytest

from toolgate.command.analysis import analyse
from toolgate.command.analysis.effects import find_reader
from toolgate.command.analysis.program import UNKNOWN, Program, Rule, every_program, program, read_facts
from toolgate.command.analysis.programs import TABLE


def test_every_row_can_be_read() -> None:
    assert [name for name in every_program() if program(name) in (UNKNOWN, Program())] == []


def test_every_reader_exists() -> None:
    readers = {program(name).reader for name in every_program()} - {""}
    assert len(readers) > 30
    assert [name for name in readers if not callable(find_reader(name))] == []


def test_a_fact_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AttributeError, match="wrap"):
        read_facts([" wrap "])


def test_every_reason_is_a_sentence_about_the_command() -> None:
    reasons = {rule.reason for name in every_program() for rule in program(name).rules if not rule.unclear}
    assert [reason for reason in reasons if not re.fullmatch(r"it [a-z ]+", reason)] == []


def test_facts_of_several_rows_are_combined() -> None:
    docker = program("docker")
    assert (docker.familiar, docker.wraps, docker.verbs) == (True, True, ("exec", "run"))
    assert docker.build_files[-1] == "Dockerfile"


def test_a_program_that_is_not_in_the_table_is_unknown() -> None:
    assert program("frobnicate") is UNKNOWN


@pytest.mark.parametrize("name", ["python3", "python3.12", "pypy", "pypy3"])
def test_versions_of_python_are_python(name: str) -> None:
    assert program(name) == program("python")


def test_a_rule_is_read_from_its_words() -> None:
    (rule,) = program("chmod").rules
    assert (rule.reason, rule.options.letters, rule.unknown) == ("it changes permissions recursively", "R", True)
    assert program("rm").rules == (Rule("it removes files"),)
    assert program("rm").rules[0].always


def test_no_program_stands_twice_with_the_same_fact() -> None:
    seen: set[tuple[str, str]] = set()
    for row in re.split(r"\n(?! )", TABLE.strip()):
        names, *facts = row.split("|")
        pairs = [] if row.startswith("#") else [(n, " ".join(f.split())) for n in names.split() for f in facts]
        assert [pair for pair in pairs if pair in seen] == []
        seen.update(pairs)


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
