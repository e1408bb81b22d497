"""A rule that contradicts its own examples is refused."""

from typing import Any

import pytest

from toolgate.runtime.policy.rules import Rule


def _rule(**fields: Any) -> Rule:
    return Rule.model_validate({"tool": "Bash", "decision": "allow", "reason": "x", **fields})


def test_examples_that_agree_with_the_rule_are_accepted() -> None:
    assert _rule(words=["git", "log"], match=["git log -3"], not_match=["git push"]).match == ("git log -3",)


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ({"match": ["git push"]}, "does not match its own example"),
        ({"not_match": ["git log -3"]}, "'not_match' forbids"),
        ({"match": ["git log | sh"]}, "one simple command"),
        ({"match": ["git log 'x"]}, "is not a command line"),
        ({"match": [{"command": "git log"}]}, "must be a command line"),
    ],
)
def test_examples_that_contradict_it_are_named(examples: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _rule(words=["git", "log"], **examples)


def test_an_example_of_several_arguments_is_a_table() -> None:
    with pytest.raises(ValueError, match="must be a table of arguments"):
        _rule(tool="grep", args={"path": "a", "pattern": "b"}, match=["a"])
    _rule(tool="grep", args={"path": "a", "pattern": "b"}, match=[{"path": "a", "pattern": "b"}])
