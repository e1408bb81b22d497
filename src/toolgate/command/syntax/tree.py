"""The syntax tree of shell code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

PartKind = Literal["bare", "quoted", "variable", "run", "expression", "assign", "unclear"]


class Part(NamedTuple):
    """A piece of a word."""

    kind: PartKind
    text: str = ""
    """The value of text, the name of a variable, or the reason why something is unclear."""
    code: Sequence | None = None
    """The commands of a substitution (`run`)."""
    parts: tuple[Part, ...] = ()
    """What an expansion or an arithmetic expression contains (`expression`)."""
    feeds: bool = False
    """`>(…)`: the commands read what is written to them."""


class Lexeme(NamedTuple):
    """A word as it was typed."""

    raw: str
    parts: tuple[Part, ...] | None = None
    """Its pieces; None if it is plain text."""


@dataclass(slots=True)
class Heredoc:
    """The text that follows a command; filled in when its line ends."""

    delimiter: str
    quoted: bool
    tabs: bool
    body: str | None = None
    parts: tuple[Part, ...] = ()
    """What the text expands."""


class Redirect(NamedTuple):
    """One redirection."""

    operator: str
    target: Lexeme
    heredoc: Heredoc | None = None
    descriptor: str = ""
    """What stands before the operator: a number, or a variable in braces."""

    @property
    def is_stdin(self) -> bool:
        """Whether an operator that opens something to read is about standard input."""
        return self.descriptor.lstrip("0") == ""


class Assign(NamedTuple):
    """`name=value`, `name+=value`, `name[i]=value` or `name=(…)`."""

    name: str
    value: tuple[Lexeme, ...]
    known: bool
    """Whether the value is one word that replaces the old one."""
    raw: str


@dataclass(slots=True)
class Simple:
    """A simple command."""

    words: list[Lexeme] = field(default_factory=list)
    assigns: list[Assign] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    declared: dict[int, Assign] = field(default_factory=dict)
    """Words of `export`, `declare` … that set a variable, by their position."""


class Compound(NamedTuple):
    """Anything with statements inside."""

    kind: Literal["group", "subshell", "branches", "function", "expression"]
    bodies: tuple[Sequence, ...] = ()
    words: tuple[Lexeme, ...] = ()
    """Words that are expanded: of a loop, a case and its patterns."""
    parts: tuple[Part, ...] = ()
    """What an expression (`[[ … ]]`, `((…))`) contains."""
    variable: str = ""
    """What a loop sets."""
    loops: bool = False
    """Whether the statements may run several times."""
    redirects: tuple[Redirect, ...] = ()
    name: str = ""
    """The name of a function."""


Command = Simple | Compound


class Pipeline(NamedTuple):
    """Commands that feed each other."""

    commands: tuple[Command, ...]
    timed: bool = False


class AndOr(NamedTuple):
    """Pipelines with the operators between them."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...] = ()


class Sequence(NamedTuple):
    """Statements one after the other."""

    statements: tuple[AndOr, ...] = ()
