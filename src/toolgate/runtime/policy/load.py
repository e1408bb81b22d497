"""From TOML to rules. Whatever is wrong is an error that says where, what, and what to write instead."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolgate.errors import PolicyError
from toolgate.runtime.policy.rules import Choice, Rule, rule_keys

PROJECT_FILE = ".toolgate/policy.toml"
"""The project's policy, relative to the root."""
_SHAPE = '[[rule]] with tool = "Bash", words = ["git", "push"], decision = "ask"'


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """What one policy file says."""

    rules: tuple[Rule, ...] = ()
    unmatched: Mapping[str, Choice] = field(default_factory=dict)
    """Tool → what to decide about calls that no rule of a trusted layer is about."""


def read_user_file(path: Path) -> PolicyDocument:
    """The user's rules; a file that is not there has none."""
    from toolgate.workspace.user_config import read_config

    try:
        text = read_config(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PolicyError(
            f"{path}: cannot be read: {reason}. Make it a readable TOML file, or remove it to have no rules."
        ) from (error if isinstance(error, OSError) else None)
    return PolicyDocument() if text is None else parse_policy(text, str(path))


def parse_policy(text: str, name: str) -> PolicyDocument:
    """The rules of a policy text; `name` is how errors call it."""
    import tomllib

    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))  # editors on Windows begin files with it
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"{name}: is not TOML: {error}. A rule is {_SHAPE}.") from None
    for key in document:
        if key not in ("rule", "unmatched"):
            raise PolicyError(f"{name}: unknown key {key!r}{_meant(key, ['rule', 'unmatched'])}. A rule is {_SHAPE}.")
    entries = document.get("rule", [])
    if not isinstance(entries, list):
        raise PolicyError(f"{name}: 'rule' must be an array of tables. Write {_SHAPE}.")
    rules = tuple(_rule(entry, f"{name}, rule {number}") for number, entry in enumerate(entries, start=1))
    return PolicyDocument(rules=rules, unmatched=checked_unmatched(document.get("unmatched", {}), name))


def _rule(entry: Any, where: str) -> Rule:
    if not isinstance(entry, dict):
        raise PolicyError(f"{where}: must be a table. Write {_SHAPE}.")
    try:
        return Rule.model_validate(entry)
    except ValidationError as error:
        problems = "; ".join(_problem(item) for item in error.errors(include_url=False))
        raise PolicyError(f"{where}: {problems}.") from None


def _problem(item: Any) -> str:
    """One finding of pydantic in the words of a policy's author."""
    name = str(item["loc"][0]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        known = rule_keys()
        return f"unknown key {name!r}{_meant(name, known)} (known: {', '.join(known)})"
    if item["type"] == "missing":
        example = {"tool": 'tool = "Bash"', "decision": 'decision = "ask"'}[name]
        return f"{name!r} is missing: write {example}"
    if name == "decision":
        return f'\'decision\' is {item["input"]!r}: write "allow", "ask" or "deny"'
    message = item["msg"].removeprefix("Value error, ")
    return f"{name!r} {message}" if name else f"the rule {message}"


def checked_unmatched(table: Any, name: str) -> dict[str, Choice]:
    """What a policy says about calls that no rule is about."""
    if not isinstance(table, dict):
        raise PolicyError(f"{name}: 'unmatched' must be a table. Write [unmatched] and below it Bash = \"ask\".")
    for tool, decision in table.items():
        if decision not in ("ask", "deny"):
            raise PolicyError(
                f'{name}: unmatched.{tool} is {decision!r}: write "ask" or "deny" (to allow a tool, write a rule).'
            )
    return dict(table)


def _meant(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
