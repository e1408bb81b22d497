"""One program as the table in `programs.py` describes it: the facts, and how a row is read."""

import functools
import operator
import re
from dataclasses import dataclass, fields
from typing import Any

from toolgate.command.analysis.options import NONE, Options
from toolgate.command.analysis.programs import TABLE

REASONS = {
    "removes": "it removes files",
    "discards": "it discards work",
    "publishes": "it publishes",
    "remote": "it acts on another machine",
    "signals": "it sends signals to processes",
    "system": "it changes the system outside the root",
}
"""Facts that are a reason to ask, and what a person reads then; `asks` and `unclear` bring their own sentence."""
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]+|pypy")


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason to ask, and the words that make it apply: any of `options`, `verbs` … is enough.

    In the table: `-R --recursive` are options (`--del*`: any that begins so), `push` is a verb, `2+` means two operands
    or more, `{}` an operand that is only known when it runs. Behind `unless` stand options that rule it out, behind
    `with` words one of which it needs as well. A rule without words always applies.
    """

    reason: str
    unclear: bool = False
    """What runs is not known, so that no policy rule can allow it."""
    options: Options = NONE
    verbs: frozenset[str] = frozenset()
    operands: int = 0
    unknown: bool = False
    unless: Options = NONE
    alongside: frozenset[str] = frozenset()

    @property
    def always(self) -> bool:
        """Whether it applies to any words, those behind `unless` aside."""
        return not (self.options or self.verbs or self.operands or self.unknown)


@dataclass(frozen=True, slots=True)
class Program:
    """What is known about a program. Every field is a fact of the table; facts of `REASONS` are in `rules`."""

    reads: bool = False
    """It changes nothing, unless another fact says so."""
    reads_operands: bool = False
    """It only reads the files that it names, although it runs or writes others."""
    familiar: bool = False
    """Everybody knows what the name means: to find another program behind it is a surprise."""
    ordinary: bool = False
    """It never runs its words as commands, and nothing else is known about it."""
    suspect: bool = False
    """Its words may be commands, as those of a program that is not in the table."""
    keyword: bool = False
    """A word of the shell's grammar."""
    shell: bool = False
    """A shell whose language is bash's."""

    no_paths: bool = False
    """Its words are never opened as files."""
    own_paths: bool = False
    """Its reader judges the paths."""
    pattern: bool = False
    """The first operand is a pattern or a program."""
    texts: frozenset[str] = frozenset()
    """Options whose value is text and no path."""
    values: frozenset[str] = frozenset()
    """Options that are followed by a value."""
    flags: frozenset[str] = frozenset()
    """Options that are not."""
    long: tuple[str, ...] = ()
    """Long options that may be written short, and that matter."""

    wraps: bool = False
    """It runs the command that follows its options."""
    skip: int = 0
    """Operands before that command; 9: all of them, only `code` is run."""
    sets: bool = False
    """Its `NAME=value` operands set variables."""
    verbs: tuple[str, ...] = ()
    """The first operand must be one of these; otherwise nothing is wrapped."""
    optional_verb: bool = False
    """Without such an operand the command begins there."""
    after: frozenset[str] = frozenset()
    """Words that the command follows, wherever they stand; without one nothing is run."""
    appends: bool = False
    """Words that are not known are added to the command."""
    joins: bool = False
    """The command is given as shell code, in one or several words."""
    code: frozenset[str] = frozenset()
    """Options whose value is shell code."""
    commands: frozenset[str] = frozenset()
    """Options whose value is the name of a program that it runs."""
    interprets: tuple[str, ...] | None = None
    """It runs code of another language; options whose value is such code."""
    checks: frozenset[str] = frozenset()
    """Options with which it checks a script and does not run it."""

    writes: frozenset[str] = frozenset()
    """Options whose value is a file that it writes."""
    writes_operands: int = 0
    """It writes its operands, from this one on."""
    appends_with: Options = NONE
    """Options with which it appends to them."""
    builds: bool = False
    """A compiler: what it built before may be built again, and its letters do not cluster."""
    sends: Options = NONE
    """Options that send data to the addresses among its operands."""
    method: frozenset[str] = frozenset()
    """Options whose value is the method of a request."""
    build_files: tuple[str, ...] = ()
    """Files in the working directory that say what it does."""
    lists: str = ""
    """The option whose value, also attached to it, is a file that says what it does."""

    rules: tuple[Rule, ...] = ()
    shows: frozenset[str] = frozenset()
    """First words with which it only shows something: a rule without words does not apply. `(nothing)`: no words."""
    reader: str = ""
    """The function in `readers/` for what no fact can say."""

    @property
    def well_known(self) -> bool:
        """Whether to find another program behind the name is a surprise."""
        return self.reads or self.familiar


UNKNOWN = Program(suspect=True)
"""A program that is not in the table."""


def program(name: str) -> Program:
    """What is known about a program."""
    found = _PROGRAMS.get(name)
    if found is None:
        found = _PROGRAMS[name] if _read(name) else UNKNOWN
    return found


_PROGRAMS: dict[str, Program] = {}


def _read(name: str) -> bool:
    facts = _rows().get("python" if _PYTHON.fullmatch(name) else name)
    if facts is not None:
        _PROGRAMS[name] = _program(facts)
    return facts is not None


@functools.cache
def _rows() -> dict[str, list[str]]:
    """The facts of every program, as text."""
    found: dict[str, list[str]] = {}
    for row in re.split(r"\n(?! )", TABLE):
        names, *facts = row.split("|")
        if not names.startswith("#"):
            for name in names.split():
                found.setdefault(name, []).extend(facts)
    return found


def every_program() -> tuple[str, ...]:
    """The names in the table."""
    return tuple(_rows())


def _program(facts: list[str]) -> Program:
    given: dict[str, Any] = {}
    for fact in facts:
        name, _, text = " ".join(fact.split()).partition(" ")
        if name in REASONS or name in ("asks", "unclear"):
            given["rules"] = (*given.get("rules", ()), _rule(name, text))
        else:
            before = given.get(name)
            value = _READ[_TYPES[name]](text)
            given[name] = value if before is None else _COMBINE[type(value)](before, value)
    return Program(**given)


def _rule(name: str, text: str) -> Rule:
    reason, _, words = (REASONS[name], "", text) if name in REASONS else text.partition(": ")
    words, _, unless = f" {words}".partition(" unless ")
    words, _, alongside = words.partition(" with ")
    given = words.split()
    return Rule(
        reason=reason,
        unclear=name == "unclear",
        options=Options.read(word for word in given if word.startswith("-")),
        verbs=frozenset(word for word in given if word[0].isalpha()),
        operands=next((int(word[0]) for word in given if word.endswith("+")), 0),
        unknown="{}" in given,
        unless=Options.read(unless.split()),
        alongside=frozenset(alongside.split()),
    )


_TYPES: dict[str, Any] = {field.name: field.type for field in fields(Program)}
_COMBINE: dict[type, Any] = {bool: operator.or_, frozenset: operator.or_, tuple: operator.add}
_READ: dict[Any, Any] = {
    bool: lambda _: True,
    int: int,
    str: str,
    frozenset[str]: lambda text: frozenset(text.split()),
    tuple[str, ...]: lambda text: tuple(text.split()),
    tuple[str, ...] | None: lambda text: tuple(text.split()),
    Options: lambda text: Options.read(text.split()),
}
