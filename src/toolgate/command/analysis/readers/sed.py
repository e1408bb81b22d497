"""`sed` programs, read just far enough to see whether they run commands or write files."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.options import has, read_options
from toolgate.command.analysis.program import program
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
_CODE = frozenset({"-e", "--expression"})
_FILES = frozenset({"-f", "--file"})
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")


def sed(scope: Scope, words: Sequence[Word]) -> None:
    """Ask about a program that runs commands (`e`), writes files (`w`) or cannot be read."""
    confined = has(words, "--sandbox")  # GNU sed then refuses programs that run commands or open files
    for code in [] if confined else _codes(words):
        if code is not None and UNRESOLVED in code:
            scope.findings.add_unclear(
                "part of its 'sed' program is only known when it runs, and may run commands or write files"
                " (with 'sed --sandbox' it cannot)"
            )
        elif code is None or not harmless(code):
            scope.findings.add_unclear("its 'sed' program may run commands or write files")
    if edits_in_place(words):
        scope.note_edits(words[1:])


def edits_in_place(words: Sequence[Word]) -> bool:
    """Whether it is `sed -i`."""
    return words[0].text in ("sed", "gsed") and any(_IN_PLACE.match(word.text) for word in words[1:])


def _codes(words: Sequence[Word]) -> list[str | None]:
    """The code of its programs, from options or else the first operand; None is code in a file."""
    given = list(read_options(words, program("sed").values, program("sed").flags))
    codes = [None if option in _FILES else word.text for option, word in given if option in _FILES | _CODE]
    operands: list[str | None] = [word.text for option, word in given if not option]
    return codes or operands[:1]


def harmless(code: str) -> bool:
    """Whether the code only edits text."""
    at = 0
    while at < len(code):
        match = _COMMAND.match(code, at)
        if match is None:
            return False
        at = match.end()
    return True
