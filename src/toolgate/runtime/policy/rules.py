"""One rule: which calls it is about, what it decides, and the examples that it is checked with."""

import json
import posixpath
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from toolgate.runtime.policy.kinds import ANY_CALL, KINDS, Conditions, RuleKind
from toolgate.runtime.policy.kinds import SHELL as SHELL
from toolgate.runtime.policy.kinds import TERMINAL as TERMINAL

Choice = Literal["allow", "ask", "deny"]
Layer = Literal["built-in", "user", "settings", "session", "project"]
"""Where a rule comes from. Only `project` is not trusted: it can tighten, never loosen."""


class Rule(Conditions):
    """Decides about calls of one tool: all of them, or those that fit its condition (see `kinds.py`)."""

    tool: str = Field(min_length=1)
    """The tool's exact name."""
    decision: Choice
    project: str | None = None
    """The absolute path of the only project root that the rule is about; None: of all projects."""
    reason: str = ""
    """Shown to the person who is asked and to the model that is refused."""
    match: tuple[str | dict[str, Any], ...] = ()
    """Calls that the rule is about: a command line, the value of the only argument, or a table of arguments."""
    not_match: tuple[str | dict[str, Any], ...] = ()
    """Calls that it must not be about."""

    @field_validator("project")
    @classmethod
    def _check_project(cls, value: str | None) -> str | None:
        if value is not None and (not value.startswith("/") or posixpath.normpath(value) != value):
            raise ValueError(f'{value!r} must be the absolute path of a project root: write project = "/home/me/shop"')
        return value

    @field_validator("match", "not_match", mode="before")
    @classmethod
    def _check_examples(cls, value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, (str, dict)) for item in value):
            raise ValueError("must be a list of examples, each a string or a table of arguments")
        return value

    @model_validator(mode="after")
    def _check_whole(self) -> "Rule":
        self.check_condition(self.tool)
        for example in self.match:
            if not self._matches_example(example):
                raise ValueError(
                    f"does not match its own example {example!r}: change the rule, or drop it from 'match'"
                )
        for example in self.not_match:
            if self._matches_example(example):
                raise ValueError(f"matches {example!r}, which 'not_match' forbids: make the rule narrower, or drop it")
        return self

    def kind(self) -> tuple[RuleKind, Any]:
        """What the rule matches on, and the value."""
        key, value = self.condition()
        return KINDS.get(key, ANY_CALL), value

    def _matches_example(self, example: str | dict[str, Any]) -> bool:
        kind, value = self.kind()
        call, command = kind.example(self.tool, value, example)
        return kind.matches(value, call, command, allows=self.decision == "allow")

    def __str__(self) -> str:
        _, value = self.condition()
        subject = self.tool if value is None else f"{self.tool} {json.dumps(value, ensure_ascii=False, default=str)}"
        return f"{self.decision} {subject}"


def rule_keys() -> list[str]:
    """The keys of a rule in a policy file."""
    return ["tool", "decision", *KINDS, "project", "reason", "match", "not_match"]
