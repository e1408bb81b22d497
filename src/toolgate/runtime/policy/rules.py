"""One rule: which calls it is about, what it decides, and the examples that it is checked with."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from toolgate.runtime.policy.globs import is_path_name

Choice = Literal["allow", "ask", "deny"]
Layer = Literal["built-in", "user", "settings", "session", "project"]
"""Where a rule comes from. Only `project` is not trusted: it can tighten, never loosen."""

SHELL = "Bash"
"""The tool whose calls are commands."""


class Rule(BaseModel):
    """Decides about calls of one tool: all of them, those with certain arguments, or certain commands (Bash)."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    tool: str = Field(min_length=1)
    """The tool's exact name."""
    decision: Choice
    words: tuple[str, ...] | None = None
    """The first words of a command (Bash only), each compared whole."""
    args: dict[str, Any] | None = None
    """Patterns for arguments; all of them must fit."""
    reason: str = ""
    """Shown to the person who is asked and to the model that is refused."""
    match: tuple[str | dict[str, Any], ...] = ()
    """Calls that the rule is about: a command line, the value of the only argument, or a table of arguments."""
    not_match: tuple[str | dict[str, Any], ...] = ()
    """Calls that it must not be about."""

    @field_validator("words", mode="before")
    @classmethod
    def _check_words(cls, value: Any) -> Any:
        good = isinstance(value, (list, tuple)) and value and all(isinstance(word, str) and word for word in value)
        if value is not None and not good:
            raise ValueError('must be a list of words that are not empty: write words = ["git", "push"]')
        if value is not None and any(character.isspace() for character in value[0]):
            raise ValueError(f"{value[0]!r} is not one word: write words = {json.dumps(value[0].split())}")
        return value

    @field_validator("args", mode="before")
    @classmethod
    def _check_args(cls, value: Any) -> Any:
        if value is not None and not (isinstance(value, dict) and value):
            raise ValueError('must be a table of arguments: write args = { path = "docs/**" }')
        for name, pattern in (value or {}).items():
            if is_path_name(name) and isinstance(pattern, str):
                _check_path_pattern(name, pattern)
        return value

    @field_validator("match", "not_match", mode="before")
    @classmethod
    def _check_examples(cls, value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, (str, dict)) for item in value):
            raise ValueError("must be a list of examples, each a string or a table of arguments")
        return value

    @model_validator(mode="after")
    def _check_whole(self) -> "Rule":
        if self.words is not None and self.args is not None:
            raise ValueError("has both 'words' and 'args': write two rules")
        if self.words is not None and self.tool != SHELL:
            raise ValueError(f"'words' are for {SHELL} only: write args = {{ … }} for {self.tool}")
        if self.tool == SHELL and "command" in (self.args or {}):
            raise ValueError("matches the text of a command, which quoting can disguise: write words = [ … ] instead")
        from toolgate.runtime.policy.examples import check_examples

        check_examples(self)
        return self

    def __str__(self) -> str:
        subject = self.tool
        if self.words is not None:
            subject += f" {json.dumps(self.words, ensure_ascii=False)}"
        elif self.args is not None:
            subject += f" {json.dumps(self.args, ensure_ascii=False, default=str)}"
        return f"{self.decision} {subject}"


def _check_path_pattern(name: str, pattern: str) -> None:
    parts = pattern.split("/")
    if not pattern or pattern.startswith("/") or ".." in parts:
        raise ValueError(f"{name} = {pattern!r} must be relative to the project root, without '..'")
    if pattern.endswith("/"):
        raise ValueError(f"{name} = {pattern!r} ends with '/': write {pattern + '**'!r} for all that is below it")
