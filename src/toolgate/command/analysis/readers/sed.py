"""`sed` programs, read just far enough to see whether they run commands or write files."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

_FILLER = re.compile(r"[\s;{}]*")
_NUMBER = re.compile(r"[0-9$~+]+")
_FLAGS = re.compile(r"[gpiImMew0-9]*")
_SHORT = re.compile(r"-[nErsuz]*([ef])(.*)", re.DOTALL)
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_HARMLESS = "=dDgGhHlLnNpPxzFqQ"


def sed(scope: Scope, words: Sequence[Word]) -> None:
    """Ask about a program that runs commands (`e`), writes files (`w`) or cannot be read."""
    for program in _programs(words):
        if program is None or not harmless(program):
            scope.found.unclear("its 'sed' program may run commands or write files")
    if edits_in_place(words):
        scope.found.changes = True


def edits_in_place(words: Sequence[Word]) -> bool:
    """Whether it is `sed -i`."""
    return words[0].text in ("sed", "gsed") and any(_IN_PLACE.match(word.text) for word in words[1:])


def _programs(words: Sequence[Word]) -> list[str | None]:
    """The programs, from options or else the first operand; None is one that is in a file."""
    found: list[str | None] = []
    operands: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.text.partition("=")
        short = _SHORT.fullmatch(word.text)
        if name == "--file" or (short and short.group(1) == "f"):
            found.append(None)
            if not equals and not (short and short.group(2)):
                next(rest, None)
        elif name == "--expression" or (short and short.group(1) == "e"):
            attached = short.group(2) if short else value
            found.append(attached if attached or equals else getattr(next(rest, None), "text", ""))
        elif not word.text.startswith("-"):
            operands.append(word.text)
    return found or list(operands[:1])


def harmless(program: str) -> bool:
    """Whether the program only edits text."""
    at = 0
    while True:
        at = _skip(_FILLER, program, at)
        if at >= len(program):
            return True
        if program[at] == "#":
            at = _line_end(program, at)
            continue
        after = _addresses(program, at)
        after = None if after is None else _command(program, after)
        if after is None:
            return False
        at = after


def _command(program: str, at: int) -> int | None:
    """The position behind the command that begins here; None if it is not harmless."""
    letter = program[at : at + 1]
    if letter in ("", "}"):
        return at + 1
    if letter in ("s", "y"):
        end = _sections(program, at + 1, 2)
        if end is None:
            return None
        after = _skip(_FLAGS, program, end)
        return None if set(program[end:after]) & set("ew") else after
    if letter in "aicrRbtT:":
        return _line_end(program, at) if letter not in "btT" else _label_end(program, at)
    if letter in _HARMLESS:
        return _skip(_NUMBER, program, _skip(re.compile(r" *"), program, at + 1)) if letter in "lLqQ" else at + 1
    return at if letter == "{" else None


def _addresses(program: str, at: int) -> int | None:
    """The position behind the addresses of a command."""
    while True:
        if program[at : at + 1] in ("/", "\\"):
            end = _sections(program, at if program[at] == "/" else at + 1, 1)
            if end is None:
                return None
            at = _skip(re.compile("[IM]*"), program, end)
        else:
            at = _skip(_NUMBER, program, at)
        at = _skip(re.compile(r"[\s!]*"), program, at)
        if program[at : at + 1] != ",":
            return at
        at = _skip(re.compile(r"\s*"), program, at + 1)


def _sections(program: str, at: int, count: int) -> int | None:
    """The position behind `count` sections that the character here delimits."""
    mark = program[at : at + 1]
    if mark in ("", "\n", "\\"):
        return None
    at += 1
    while at < len(program):
        character = program[at]
        if character == "\\":
            at += 1
        elif character == mark:
            count -= 1
            if count == 0:
                return at + 1
        at += 1
    return None


def _skip(pattern: re.Pattern[str], program: str, at: int) -> int:
    match = pattern.match(program, at)
    return match.end() if match else at


def _line_end(program: str, at: int) -> int:
    end = program.find("\n", at)
    return len(program) if end < 0 else end


def _label_end(program: str, at: int) -> int:
    match = re.compile(r"[^;\n}]*").match(program, at)
    return match.end() if match else at
