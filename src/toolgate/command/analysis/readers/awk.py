"""`awk` programs, read just far enough to see whether they run commands or write files."""

import re
from collections.abc import Iterator, Sequence

from toolgate.command.analysis.options import read_options
from toolgate.command.analysis.program import program
from toolgate.command.analysis.readers.interpreters import analyse_script_word
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_RUNS = re.compile(r"\bsystem\s*\(|\bgetline\b|@")
"""Searched in the text as it is: `@` calls a function by its name in a variable, or loads more code."""
_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*+") | (?P<comment>\#[^\n]*+) | (?P<name>[A-Za-z_]\w*+) | (?P<number>\d[\w.]*+)
    | (?P<step>\+\+|--) | (?P<or>\|\|) | (?P<space>(?:[ \t\r]|\\\n)++) | (?P<mark>.)""",
    re.DOTALL | re.VERBOSE,
)
_PATTERN = re.compile(r"/(?:\\.|\[\^?+\]?+(?:\[:[^\]:\n]*+:\]|[^\]\n])*+\]|[^/\\\[\n])*+/")
_BEFORE_PATTERN = frozenset("print printf return in else do case delete exit".split())
"""Names after which a slash begins a pattern; after any other name it divides."""
_CONDITIONS = frozenset({"if", "while", "for", "switch"})
"""Names whose parentheses are followed by a statement."""
_CODE = frozenset({"-e", "--source"})
_FILES = frozenset({"-f", "--file", "-E", "--exec"})
_STANDARD = re.compile(r'\s*"/dev/(?:stdout|stderr)"\s*(?:[;}\n]|\Z)')


def awk(scope: Scope, words: Sequence[Word]) -> None:
    """`awk`: a program that can run commands and write files."""
    name, given = words[0].text, False
    for option, word in read_options(words, program("awk").values):
        if option in _FILES:
            analyse_script_word(scope, name, word, lambda code: _check(scope, name, code))
            for path in scope.matches(word) or ():
                _check(scope, name, scope.surroundings.content(path) or "")
        elif option in _CODE or not (option or given):
            _check(scope, name, word.text)
        if not option:
            return
        given = given or option in _FILES | _CODE


def _check(scope: Scope, name: str, code: str) -> None:
    if UNRESOLVED in code:
        scope.findings.add_unclear(f"part of its '{name}' program is only known when it runs")
    elif not harmless(code):
        scope.findings.add_unclear(f"its '{name}' program runs commands or writes files")


def harmless(code: str) -> bool:
    """Whether the code only reads its input and prints."""
    if _RUNS.search(code):
        return False
    printing = -1
    for kind, text, end, depth in _tokens(code):
        if kind == "name" and text in ("print", "printf"):
            printing = depth
        elif kind == "mark":
            redirects = text == ">" and depth == printing and not _STANDARD.match(code, end)
            if redirects or text in '"|':
                return False
            printing = -1 if text in ";{}\n" else printing
    return True


def _tokens(code: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the kind of each token, its text, where it ends, and in how many parentheses it stands."""
    at, before, operand = 0, "", False
    conditions: list[bool] = []
    while at < len(code):
        pattern = None if operand or code[at] != "/" else _PATTERN.match(code, at)
        token = pattern or _TOKEN.match(code, at)
        if token is None:  # pragma: no cover - every character is a mark at least
            return
        kind, text, at = "pattern" if pattern else str(token.lastgroup), token.group(), token.end()
        operand = _is_operand(kind, text, operand)
        if text == "(":
            conditions.append(before in _CONDITIONS)
        elif text == ")" and conditions:
            operand = not conditions.pop()
        if kind not in ("space", "comment"):
            before = text
        yield kind, text, at, len(conditions)


def _is_operand(kind: str, text: str, before: bool) -> bool:
    """Whether a slash after the token divides."""
    if kind in ("space", "step", "comment"):
        return before
    names = kind == "name" and text not in _BEFORE_PATTERN
    return names or kind in ("string", "number", "pattern") or text in (")", "]")
