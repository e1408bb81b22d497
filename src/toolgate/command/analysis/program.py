"""One program as the table in `programs.py` describes it: the facts, and how a row is read."""

import functools
import operator
import re
from dataclasses import dataclass
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
class AskRule:
    """A reason to ask, and the words that make it apply: any of `options`, `verbs` … is enough.

    In the table: `-R --recursive` are options (`--del*`: any that begins so), `push` is a verb, `2+` means two operands
    or more, `{}` an operand that is only known when it runs. After `unless` follow options that rule it out, after
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
        """Whether it applies to any words, apart from those after `unless`."""
        return not (self.options or self.verbs or self.operands or self.unknown)


@dataclass(frozen=True, slots=True)
class Program:
    """What is known about a program. Every field is a fact of the table; facts of `REASONS` are in `rules`."""

    reads: bool = False  # it changes nothing, unless another fact says so
    reads_operands: bool = False  # it only reads the files that it names, although it runs or writes others
    familiar: bool = False  # everybody knows what the name means
    ordinary: bool = False  # it never runs its words as commands, and nothing else is known about it
    suspect: bool = False  # its words may be commands, as those of a program that is not in the table
    keyword: bool = False  # a word of the shell's grammar
    shell: bool = False  # a shell whose language is bash's

    no_paths: bool = False  # its words are never opened as files
    own_paths: bool = False  # its reader judges the paths
    pattern: bool = False  # the first operand is a pattern or a program
    texts: frozenset[str] = frozenset()  # options whose value is text and no path
    values: frozenset[str] = frozenset()  # options that are followed by a value; without any, letters do not cluster
    flags: frozenset[str] = frozenset()  # options that are not
    long: tuple[str, ...] = ()  # long options that may be written short, and that matter

    wraps: bool = False  # it runs the command that follows its options
    skip: int = 0  # operands before that command; 9: all of them, only `code` is run
    sets: bool = False  # its `NAME=value` operands set variables
    verbs: tuple[str, ...] = ()  # the first operand must be one of these; otherwise nothing is wrapped
    optional_verb: bool = False  # without such an operand the command begins there
    after: frozenset[str] = frozenset()  # words that the command follows; without one nothing is run
    appends: bool = False  # words that are not known are added to the command
    joins: bool = False  # the command is shell code, in one or several words; unless it `wraps`, every operand is code
    code: frozenset[str] = frozenset()  # options whose value is code, in the shell's language unless it `interprets`
    commands: frozenset[str] = frozenset()  # options whose value is the name of a program that it runs
    interprets: bool = False  # it runs code of its own language
    checks: frozenset[str] = frozenset()  # options with which it only checks a script or a command, and runs nothing

    console: bool = False  # it runs what is typed into it
    language: str = ""  # the program that reads its input, or the words after `after`, if it does not do so itself
    unread: bool = False  # the analysis does not read that language
    pager: bool = False  # it can run programs and write files on a key

    writes: frozenset[str] = frozenset()  # options whose value is a file that it writes
    writes_operands: int = 0  # it writes its operands, from this one on
    appends_with: Options = NONE  # options with which it appends to them
    builds: bool = False  # a compiler: it may replace what it built before
    sends: Options = NONE  # options that send data to the addresses among its operands
    method: frozenset[str] = frozenset()  # options whose value is the method of a request
    build_files: tuple[str, ...] = ()  # files in the working directory that say what it does
    lists: str = ""  # the option whose value, also attached to it, is a file that says what it does

    rules: tuple[AskRule, ...] = ()
    shows: frozenset[str] = frozenset()  # first words, or `(nothing)`, that exempt it from a rule without words
    reader: str = ""  # the function in `readers/` for what no fact can say

    @property
    def well_known(self) -> bool:
        """Whether the name is expected to mean this program, so that another program of that name is suspicious."""
        return self.reads or self.familiar

    @property
    def runs_shell_code(self) -> bool:
        """Whether a script that it is given is bash's."""
        return self.shell or self.reader == "interpreters.source"

    @property
    def options_matter(self) -> bool:
        """Whether an option can make it run or write something."""
        reads_options = bool(self.reader) and not self.reader.startswith("builtins.") and not self.shell
        named = bool(self.writes or self.commands or self.code) or any(rule.options for rule in self.rules)
        return (named or reads_options) and not self.wraps


UNKNOWN = Program(suspect=True)
"""A program that is not in the table."""


@functools.lru_cache(maxsize=4096)
def program(name: str) -> Program:
    """What is known about a program."""
    facts = _rows().get("python" if _PYTHON.fullmatch(name) else name)
    return UNKNOWN if facts is None else read_facts(facts)


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


def read_facts(facts: list[str]) -> Program:
    """The program that the facts of its rows describe."""
    given: dict[str, Any] = {}
    for fact in facts:
        name, _, text = " ".join(fact.split()).partition(" ")
        if name in REASONS or name in ("asks", "unclear"):
            given["rules"] = (*given.get("rules", ()), _rule(name, text))
        else:
            before, value = given.get(name), _value(name, text)
            combine = operator.add if isinstance(value, tuple) else operator.or_
            given[name] = value if before is None else combine(before, value)
    return Program(**given)


def _value(name: str, text: str) -> Any:
    """What a fact says, in the type of its field."""
    kind = type(getattr(UNKNOWN, name))
    if kind is Options:
        return Options.read(text.split())
    if kind is bool:
        return True
    return kind(text.split() if kind in (tuple, frozenset) else text)


def _rule(name: str, text: str) -> AskRule:
    reason, _, words = (REASONS[name], "", text) if name in REASONS else text.partition(": ")
    words, _, unless = f" {words}".partition(" unless ")
    words, _, alongside = words.partition(" with ")
    given = words.split()
    return AskRule(
        reason=reason,
        unclear=name == "unclear",
        options=Options.read(word for word in given if word.startswith("-")),
        verbs=frozenset(word for word in given if word[0].isalpha()),
        operands=next((int(word[0]) for word in given if word.endswith("+")), 0),
        unknown="{}" in given,
        unless=Options.read(unless.split()),
        alongside=frozenset(alongside.split()),
    )
