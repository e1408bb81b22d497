"""One program as the table describes it: how a row is read."""

import pytest

from toolgate.command.analysis.program import UNKNOWN, AskRule, program, read_facts


def test_a_fact_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AttributeError, match="wrap"):
        read_facts([" wrap "])


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
    assert program("rm").rules == (AskRule("it removes files"),)
    assert program("rm").rules[0].always
