"""Examples that a rule carries, checked when it is made: a rule that contradicts them is not what its author meant."""

import re
import shlex
from typing import Any

from toolgate.runtime.policy.matching import Call, matches
from toolgate.runtime.policy.rules import SHELL, Rule

_MORE_THAN_WORDS = re.compile(r"[;&|<>()`$\n]")


def check_examples(rule: Rule) -> None:
    """Raise `ValueError` for the first example that the rule contradicts."""
    for example in rule.match:
        if not _matches(rule, example):
            raise ValueError(f"does not match its own example {example!r}: change the rule, or drop it from 'match'")
    for example in rule.not_match:
        if _matches(rule, example):
            raise ValueError(f"matches {example!r}, which 'not_match' forbids: make the rule narrower, or drop it")


def _matches(rule: Rule, example: str | dict[str, Any]) -> bool:
    if rule.words is not None:
        return matches(rule, Call(arguments={}), _words(example))
    return matches(rule, Call(arguments=_arguments(rule, example)), ())


def _words(example: str | dict[str, Any]) -> tuple[str, ...]:
    if not isinstance(example, str):
        raise ValueError(f"example {example!r} must be a command line, since the rule has 'words'")
    try:
        words = tuple(shlex.split(example))
    except ValueError as error:
        raise ValueError(f"example {example!r} is not a command line: {error}") from None
    if _MORE_THAN_WORDS.search(example) or not words:
        raise ValueError(f"example {example!r} must be one simple command, without pipes, lists or expansions")
    return words


def _arguments(rule: Rule, example: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(example, dict):
        return example
    if rule.args is not None and len(rule.args) == 1:
        return dict.fromkeys(rule.args, example)
    if rule.args is None and rule.tool == SHELL:
        return {"command": example}
    raise ValueError(f"example {example!r} must be a table of arguments: write {{ name = value, … }}")
