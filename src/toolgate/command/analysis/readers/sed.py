"""`sed` programs, read just far enough to see whether they run commands or write files."""

import itertools
import re
from collections.abc import Sequence

from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_BRACKET = r"\[\^?+\]?+(?:\[:[^\]:\n]*+:\]|\[\.[^\].\n]*+\.\]|\[=[^\]=\n]*+=\]|[^\]\n])*+\]"
"""`[^/]`: in a pattern, a delimiter in brackets is an ordinary character."""
_ADDRESS = (
    rf"(?:[0-9$~+]++|/(?:\\.|{_BRACKET}|[^/\\\[])*+/[IM]*+"
    rf"|\\(?P<{{0}}>[^\n\\\[\]])(?:\\.|{_BRACKET}|(?!(?P={{0}}))[^\\\[])*+(?P={{0}})[IM]*+)?+[\s!]*+"
)
_COMMAND = re.compile(
    rf"""[\s;{{}}]++ | \#[^\n]*+ |
    {_ADDRESS.format("a")} (?:,\s*+{_ADDRESS.format("b")})*+
    (?: s(?P<mark>[^\n\\\[\]]) (?:\\.|{_BRACKET}|(?!(?P=mark))[^\\\[])*+ (?P=mark)
        (?:\\.|(?!(?P=mark))[^\\])*+ (?P=mark) [gpiImM0-9]*+(?![ew])
      | y(?P<other>[^\n\\]) (?:(?:\\.|(?!(?P=other))[^\\])*+(?P=other)){{2}}
      | [aicrR:][^\n]*+
      | [btT][^;\n}}]*+
      | [lLqQ]\ *+[0-9$~+]*+
      | [=dDgGhHnNpPxzF{{}}]
      | \Z )""",
    re.DOTALL | re.VERBOSE,
)
"""A command that only edits text, with its addresses; `s///e`, `s///w`, `e` and `w` are none."""
_SHORT = re.compile(r"-[nErsuz]*([ef])(.*)", re.DOTALL)
_LINE_LENGTH = re.compile(r"-[nErsuz]*l")
"""The option whose value is the next word."""
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")


def sed(scope: Scope, words: Sequence[Word]) -> None:
    """Ask about a program that runs commands (`e`), writes files (`w`) or cannot be read."""
    programs = [] if _is_confined(words) else _programs(words)
    for program in programs:
        if program is not None and UNRESOLVED in program:
            scope.found.unclear(
                "part of its 'sed' program is only known when it runs, and may run commands or write files"
                " (with 'sed --sandbox' it cannot)"
            )
        elif program is None or not harmless(program):
            scope.found.unclear("its 'sed' program may run commands or write files")
    if edits_in_place(words):
        scope.edit(words[1:])


def _is_confined(words: Sequence[Word]) -> bool:
    """Whether `--sandbox` is given, with which GNU sed refuses programs that run commands or open files."""
    options = itertools.takewhile(lambda text: text != "--", (word.text for word in words))
    return "--sandbox" in options


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
        elif word.text == "--line-length" or _LINE_LENGTH.fullmatch(word.text):
            next(rest, None)
        elif not word.text.startswith("-"):
            operands.append(word.text)
    return found or list(operands[:1])


def harmless(program: str) -> bool:
    """Whether the program only edits text."""
    at = 0
    while at < len(program):
        match = _COMMAND.match(program, at)
        if match is None:
            return False
        at = match.end()
    return True
