"""The kinds of rules: what each matches, and how it is checked and written."""

import tomllib
from typing import Any

import pytest

from toolgate.errors import DeclarationError
from toolgate.runtime.policy import Rule
from toolgate.runtime.policy.kinds import ANY_CALL, KINDS, Conditions
from toolgate.runtime.policy.matching import CallToMatch
from toolgate.runtime.policy.rules import rule_keys

EXAMPLES: dict[str, tuple[str, Any]] = {
    "words": ("Bash", ("git", "push")),
    "args": ("write_file", {"path": "docs/**"}),
}
"""Kind → a tool, and a value that rules about it may have."""


def test_every_kind_has_a_field_and_every_field_a_kind() -> None:
    assert list(Conditions.model_fields) == list(KINDS) == list(EXAMPLES)


def test_the_keys_of_a_rule_are_its_fields() -> None:
    assert sorted(rule_keys()) == sorted(Rule.model_fields)


@pytest.mark.parametrize("key", KINDS)
def test_a_rule_knows_its_kind(key: str) -> None:
    tool, value = EXAMPLES[key]
    assert Rule.model_validate({"tool": tool, "decision": "ask", key: value}).kind() == (KINDS[key], value)


def test_a_rule_without_a_condition_is_about_every_call() -> None:
    kind, value = Rule(tool="grep", decision="ask").kind()
    assert kind is ANY_CALL
    assert kind.matches(value, CallToMatch(arguments={"pattern": "x"}), (), allows=True)


@pytest.mark.parametrize("key", KINDS)
def test_what_is_written_is_read_again(key: str) -> None:
    tool, value = EXAMPLES[key]
    text = f'tool = "{tool}"\ndecision = "allow"\n{key} = {KINDS[key].toml(value)}'
    assert Rule.model_validate(tomllib.loads(text)).condition() == (key, value)


def test_two_conditions_are_two_rules() -> None:
    with pytest.raises(DeclarationError, match=r"^Rule: has both 'words' and 'args': write two rules"):
        Rule(tool="Bash", decision="ask", words=("rm",), args={"access": "full"})


def test_words_need_the_analysis_of_a_command_and_arguments_do_not() -> None:
    assert (KINDS["words"].needs_analysis, KINDS["args"].needs_analysis) == (True, False)


def test_a_program_by_its_path_is_denied_but_not_allowed() -> None:
    words = KINDS["words"]
    assert words.matches(("rm",), CallToMatch(arguments={}), ("/bin/rm", "x"), allows=False)
    assert not words.matches(("rm",), CallToMatch(arguments={}), ("/bin/rm", "x"), allows=True)
