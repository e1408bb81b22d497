"""What a rule can match on: one class per kind, and the table of them.

A new kind is written here and nowhere else: its class, its row in `KINDS`, and its field in `Conditions`.
`docs/extending.md` has an example.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from typing import Any

from pydantic import ConfigDict, ValidationInfo, field_validator

from toolgate.declared import Declared
from toolgate.runtime.policy.globs import is_path_name
from toolgate.runtime.policy.matching import CallToMatch, fits

SHELL = "Bash"
"""The tool whose calls are commands."""
TERMINAL = "Terminal"
"""The tool that types into a running command. The rules about `SHELL` apply to it, too: the text may run commands."""
Command = tuple[str, ...]
"""The words of a simple command; empty for a call that is not a command."""
Example = str | dict[str, Any]
"""A call as a policy's author writes it: a command line, the value of the only argument, or a table of arguments."""

_MORE_THAN_WORDS = re.compile(r"[;&|<>()`$\n]")


class RuleKind:
    """One thing that a rule can match on. `value` is what the rule says about it."""

    needs_analysis = False
    """Whether it matches the commands of a call; a call whose commands are not known is then asked about."""

    def check(self, value: Any) -> Any:
        """The value as it is kept; `ValueError` with what to write instead if it is not one."""
        return value

    def check_tool(self, tool: str, value: Any) -> None:
        """Raise `ValueError` if rules about this tool cannot be of this kind."""

    def program(self, value: Any) -> str | None:
        """The only program whose commands it can match; None if it can match others, too."""
        return None

    def matches(self, value: Any, call: CallToMatch, command: Command, *, allows: bool) -> bool:
        """Whether a rule matches a call, or one of its commands. In doubt, a rule that allows does not match."""
        return True

    def example(self, tool: str, value: Any, example: Example) -> tuple[CallToMatch, Command]:
        """The call that an example stands for; `ValueError` if it is written wrongly."""
        if isinstance(example, dict):
            return CallToMatch(arguments=example), ()
        if tool == SHELL:
            return CallToMatch(arguments={"command": example}), ()
        raise ValueError(f"example {example!r} must be a table of arguments: write {{ name = value, … }}")

    def suspected(self, value: Any, words: Command) -> str:
        """What an unknown program with these words may run that this rule is about; empty if nothing."""
        return ""

    def toml(self, value: Any) -> str:
        """The value as it is written in a policy file: a text, a number, a truth value, or a list of them."""
        return toml_text(value)


class WordsKind(RuleKind):
    """The first words of a command, each compared whole."""

    needs_analysis = True

    def check(self, value: Any) -> Any:
        """A list of words."""
        if not (isinstance(value, (list, tuple)) and value and all(isinstance(word, str) and word for word in value)):
            raise ValueError('must be a list of words that are not empty: write words = ["git", "push"]')
        if any(character.isspace() for character in value[0]):
            raise ValueError(f"{value[0]!r} is not one word: write words = {json.dumps(value[0].split())}")
        return value

    def program(self, value: Any) -> str | None:
        """The first word."""
        return str(value[0])

    def check_tool(self, tool: str, value: Any) -> None:
        """Only the shell has commands."""
        if tool != SHELL:
            raise ValueError(f"'words' are for {SHELL} only: write args = {{ … }} for {tool}")

    def matches(self, value: Any, call: CallToMatch, command: Command, *, allows: bool) -> bool:
        """Whole words only. `/bin/rm` counts as `rm`, except in a rule that allows: there it would allow too much."""
        if len(command) < len(value) or command[1 : len(value)] != value[1:]:
            return False
        program = command[0]
        return bool(program == value[0] or (not allows and "/" in program and posixpath.basename(program) == value[0]))

    def example(self, tool: str, value: Any, example: Example) -> tuple[CallToMatch, Command]:
        """A command line."""
        if not isinstance(example, str):
            raise ValueError(f"example {example!r} must be a command line, since the rule has 'words'")
        try:
            words = tuple(shlex.split(example))
        except ValueError as error:
            raise ValueError(f"example {example!r} is not a command line: {error}") from None
        if _MORE_THAN_WORDS.search(example) or not words:
            raise ValueError(f"example {example!r} must be one simple command, without pipes, lists or expansions")
        return CallToMatch(arguments={}), words

    def suspected(self, value: Any, words: Command) -> str:
        """The rule's words, if they stand anywhere among the words of the program."""
        found = any(words[at : at + len(value)] == value for at in range(len(words)))
        return " ".join(value) if found else ""

    def toml(self, value: Any) -> str:
        """A list."""
        return f"[{', '.join(map(toml_text, value))}]"


class ArgumentsKind(RuleKind):
    """Patterns for arguments, all of which must fit."""

    def check(self, value: Any) -> Any:
        """A table of patterns."""
        if not (isinstance(value, dict) and value):
            raise ValueError('must be a table of arguments: write args = { path = "docs/**" }')
        for name, pattern in value.items():
            if is_path_name(name) and isinstance(pattern, str):
                check_path_pattern(name, pattern)
        return value

    def check_tool(self, tool: str, value: Any) -> None:
        """A command is matched by its words."""
        if tool == SHELL and "command" in value:
            raise ValueError("matches the text of a command, which quoting can disguise: write words = [ … ] instead")

    def matches(self, value: Any, call: CallToMatch, command: Command, *, allows: bool) -> bool:
        """Every argument that the rule names is there and fits."""
        return all(
            name in call.arguments and fits(name, pattern, call.arguments[name], call, every=allows)
            for name, pattern in value.items()
        )

    def example(self, tool: str, value: Any, example: Example) -> tuple[CallToMatch, Command]:
        """A table of arguments, or just the value where the rule names one argument."""
        if isinstance(example, str) and len(value) == 1:
            return CallToMatch(arguments=dict.fromkeys(value, example)), ()
        if isinstance(example, str):
            raise ValueError(f"example {example!r} must be a table of arguments: write {{ name = value, … }}")
        return CallToMatch(arguments=example), ()

    def toml(self, value: Any) -> str:
        """A table."""
        return f"{{ {', '.join(f'{name} = {toml_text(pattern)}' for name, pattern in value.items())} }}"


ANY_CALL = RuleKind()
"""A rule without any condition: it is about every call of its tool."""
KINDS: dict[str, RuleKind] = {
    "words": WordsKind(),
    "args": ArgumentsKind(),
}
"""Key of a rule in a policy file, and field of `Conditions` → kind. A rule has one of them, or none."""


class Conditions(Declared):
    """What a rule matches on: one field per kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    words: tuple[str, ...] | None = None
    """The first words of a command (Bash only), each compared whole."""
    args: dict[str, Any] | None = None
    """Patterns for arguments; all of them must fit."""

    @field_validator(*KINDS, mode="before")
    @classmethod
    def _check_value(cls, value: Any, info: ValidationInfo) -> Any:
        return value if value is None else KINDS[str(info.field_name)].check(value)

    def condition(self) -> tuple[str, Any]:
        """The key of the kind and its value; empty and None if there is no condition."""
        return next(((key, value) for key in KINDS if (value := getattr(self, key)) is not None), ("", None))

    def check_condition(self, tool: str) -> None:
        """Raise `ValueError` for a combination that cannot be."""
        given = [key for key in KINDS if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"has both {given[0]!r} and {given[1]!r}: write two rules")
        for key in given:
            KINDS[key].check_tool(tool, getattr(self, key))


def check_path_pattern(name: str, pattern: str) -> None:
    """Raise `ValueError` for a pattern that no path of the project can match."""
    parts = pattern.split("/")
    if not pattern or pattern.startswith("/") or ".." in parts:
        raise ValueError(f"{name} = {pattern!r} must be relative to the project root, without '..'")
    if pattern.endswith("/"):
        raise ValueError(f"{name} = {pattern!r} ends with '/': write {pattern + '**'!r} for all that is below it")


_as_json = json.JSONEncoder(ensure_ascii=False).encode


def toml_text(value: Any) -> str:
    """A text, a number, a truth value or a list of them as TOML: JSON writes them alike, but for one character."""
    return _as_json(value).replace("\x7f", "\\u007f")
