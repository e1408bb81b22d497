"""Analyses what is typed into a running command, as if it were a here-document of that command.

A terminal can do more than a here-document: keys recall and edit lines, a shell expands its history, a pager runs
programs, and a program that an earlier line has started reads what comes next. Then a person decides.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolgate.command.analysis import analyse
from toolgate.command.analysis.plan import CommandPlan, Surroundings
from toolgate.command.analysis.program import program

MAX_TYPED = 64 * 1024
"""Characters of input that are analysed. If more was typed, everything needs approval."""
_PAGER_TEXT = re.compile(r"[ qhjkdufbgGnN0-9\r\n]*")
"""Keys that only move in a pager, or leave it."""
_HISTORY = re.compile(r"![^\s=(\"]|(?:^|\n)\^", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_CANARY = "rm x\nos.system('rm x'); system('rm x'); exec rm x\n\\! rm x\n.shell rm x\n"
"""Code that is dangerous in every language that the analysis reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedInput:
    """Input for a running command."""

    command: str
    """The command line that was started."""
    before: str
    """What was typed earlier."""
    text: str
    """What is to be typed now, with a newline for Enter."""
    keys: bool = False
    """Whether keys are pressed that may edit or recall a line."""
    terminal: bool = False


def analyse_input(typed: TypedInput, surroundings: Surroundings | None = None) -> CommandPlan:
    """Return what the input may run. It never raises: input that is not understood needs approval."""
    whole = typed.before + typed.text
    own = analyse(typed.command, surroundings)
    found = _with_input(typed.command, whole, surroundings)
    readers = [name for name in _names(own) if _runs_input(name)]
    inner = [_with_input(program(name).language or name, whole, surroundings) for name in dict.fromkeys(readers)]
    plans = [found, *inner]
    dangers = [danger for plan in plans for danger in plan.dangers]
    return replace(
        found,
        commands=tuple(dict.fromkeys(command for plan in plans for command in plan.commands)),
        dangers=tuple(dict.fromkeys([*dangers, *_extra_dangers(typed, own, readers, surroundings)])),
        suspects=tuple(dict.fromkeys(words for plan in plans for words in plan.suspects)),
    )


def _extra_dangers(
    typed: TypedInput, own: CommandPlan, readers: Sequence[str], surroundings: Surroundings | None
) -> Iterator[str]:
    """Yield why this input may do more than the same text in a here-document."""
    if len(typed.before) + len(typed.text) > MAX_TYPED:
        yield f"more than {MAX_TYPED:,} characters were typed, which are not followed any more"
    for name in dict.fromkeys(readers):
        if not _is_followed(name):
            yield f"'{name}' runs what is typed into it, in a language that is not followed here"
    if readers and (typed.keys or (typed.terminal and _CONTROL.search(typed.text))):
        yield f"keys that edit or recall lines: what '{readers[0]}' then runs is only known when it runs"
    if any(program(name).shell for name in readers) and _HISTORY.search(typed.text):
        yield "'!' and '^' recall earlier lines of a shell: what it runs is only known when it runs"
    pager = next((name for name in _names(own) if program(name).pager), "")
    if typed.terminal and pager and not _PAGER_TEXT.fullmatch(typed.text):
        yield f"'{pager}' can run programs and write files on a key"
    if readers and typed.before:
        earlier = _with_input(typed.command, typed.before, surroundings)
        before = [name for name in _names(earlier) if name not in _names(own) and _may_read(name)]
        if before:
            yield f"'{before[0]}', which an earlier line has started, may read this"


@functools.lru_cache(maxsize=256)
def _is_followed(name: str) -> bool:
    """Whether the analysis reads the language of a program that runs what is typed into it."""
    facts = program(name)
    return not facts.unread and _with_input(facts.language or name, _CANARY, None).asks


def _with_input(command: str, text: str, surroundings: Surroundings | None) -> CommandPlan:
    mark = "TOOLGATE-INPUT"
    while mark in text:
        mark += "-"
    return analyse(f"{{ {command}\n}} <<'{mark}'\n{text}\n{mark}", surroundings)


def _names(plan: CommandPlan) -> list[str]:
    """Return the programs of a command line, and the modules that an interpreter runs."""
    names = []
    for command in plan.commands:
        names.append(command[0].rpartition("/")[2])
        if "-m" in command[:-1]:
            names.append(command[command.index("-m") + 1])
    return names


def _runs_input(name: str) -> bool:
    facts = program(name)
    return facts.shell or facts.interprets or facts.console


def _may_read(name: str) -> bool:
    """Whether a program may take the input of the shell that has started it, for more than data."""
    return _runs_input(name) or program(name).suspect or program(name).pager
