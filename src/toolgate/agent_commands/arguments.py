"""The words of an agent command: options, operands, and the content that a heredoc gives it."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolgate.agent_commands.outcome import RoutedCall, SessionCommand
from toolgate.command.line import Line
from toolgate.command.words import Word


class UsageError(Exception):
    """The words do not fit; the message says why and what to write."""


_MAX_NUMBER = 10**18


@dataclass(frozen=True, slots=True)
class Arguments:
    """An agent command's words, sorted. Nothing is expanded, and a quoted word is never an option."""

    operands: tuple[str, ...]
    options: Mapping[str, str | bool]
    content: str | None
    """The text of a heredoc or a herestring; None without one."""

    def number(self, option: str, default: int, least: int = 0) -> int:
        """The value of an option that is a whole number."""
        given = self.options.get(option)
        if given is None:
            return default
        text = str(given)
        number = _whole_number(text)
        if number is None or number < least:
            raise UsageError(f"{option} must be a whole number of at least {least}, not '{text}'")
        return number

    def with_content(self, names: str) -> tuple[str, ...]:
        """The operands, with the content as the last one. `names` are their names in a message about a missing one."""
        wanted = names.split()
        given = self.operands
        if self.content is not None:
            if len(given) == len(wanted) and given[-1] == "-":
                given = given[:-1]
            if len(given) == len(wanted):
                raise UsageError(f"{wanted[-1]} is given twice: as a word and as a heredoc")
            given = (*given, self.content)
        return _exactly(given, wanted)

    def exactly(self, names: str) -> tuple[str, ...]:
        """The operands, which must be these and no content."""
        if self.content is not None:
            raise UsageError("it reads no heredoc")
        return _exactly(self.operands, names.split())


def _whole_number(text: str) -> int | None:
    """The number in the text, at most `_MAX_NUMBER`: a larger number has the same effect."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    return min(int(digits[:20] or "0"), _MAX_NUMBER)


def _exactly(given: tuple[str, ...], wanted: list[str]) -> tuple[str, ...]:
    if len(given) < len(wanted):
        raise UsageError(f"{' and '.join(wanted[len(given) :])} missing")
    if len(given) > len(wanted):
        raise UsageError(
            f"{len(given)} words, but only {' '.join(wanted)} are expected: quote a word that contains blanks"
        )
    return given


def sort_words(line: Line, valued: frozenset[str], flags: frozenset[str]) -> Arguments:
    """Sort the words after the command into options and operands."""
    operands: list[str] = []
    options: dict[str, str | bool] = {}
    words = deque(line.words[1:])
    ended = False
    while words:
        word = words.popleft()
        name, equals, value = word.text.partition("=")
        if word.quoted or ended or not word.text.startswith("-") or word.text == "-":
            operands.append(_known(word))
        elif word.text == "--":
            ended = True
        elif word.text in flags:
            options[word.text] = True
        elif name in valued and (equals or words):
            options[name] = value if equals else _known(words.popleft())
        elif name in valued:
            raise UsageError(f"{name} needs a value")
        else:
            raise UsageError(f"unknown option '{word.text}': quote it if it is meant as text")
    return Arguments(tuple(operands), options, None if line.content is None else _known(line.content))


def _known(word: Word) -> str:
    if word.known:
        return word.text
    shown = word.raw if len(word.raw) <= 60 else word.raw[:57] + "…"
    raise UsageError(
        f"{shown!r} contains something that a shell would expand, and this command expands nothing: "
        "write the value out, use single quotes, or quote the heredoc's delimiter (<<'EOF')"
    )


Build = Callable[[Arguments, str], RoutedCall | SessionCommand]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCommand:
    """One agent command: its synopsis, its options and how its words become a call."""

    name: str
    synopsis: str
    build: Build
    """Makes the call from the sorted words and the shell's directory; raises `UsageError`."""
    help_file: str
    valued: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    takes_heredoc: bool = False
    """Whether a heredoc is its content."""
    tool: str = ""
    """The tool without which it does nothing; empty if it needs none."""

    @property
    def help(self) -> str:
        """The synopsis, and the text of the `.md` file."""
        return f"Usage: {self.synopsis}\n\n{help_beside(self.help_file)}\n"


@functools.cache
def help_beside(module_file: str) -> str:
    """The text of the `.md` file beside a module, read once."""
    return Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()


def routed(command: str, tool_name: str, cwd: str, **arguments: Any) -> RoutedCall:
    """The call of a tool."""
    return RoutedCall(command=command, tool_name=tool_name, arguments=arguments, cwd=cwd)
