"""`awk` programs, read just far enough to see whether they run commands or write files."""

import re
from collections.abc import Iterator, Sequence

from toolgate.command.analysis.readers.interpreters import run_script
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
"""Names behind which a slash begins a pattern; behind any other it divides."""
_CONDITIONS = frozenset({"if", "while", "for", "switch"})
"""Names behind whose parentheses a statement begins."""
_STANDARD = re.compile(r'\s*"/dev/(?:stdout|stderr)"\s*(?:[;}\n]|\Z)')
_VALUED = frozenset({"-v", "-F", "--assign", "--field-separator"})
_WRITES = re.compile(r"-[opd].+|--(?:pretty-print|profile|dump-variables)(?:=.*)?")
_LOADS = re.compile(r"-[il](.*)|--(?:include|load)(?:=(.*))?", re.DOTALL)
_CODE = re.compile(r"-e(.*)|--source(?:=(.*))?", re.DOTALL)
_FILES = re.compile(r"-[fE](.*)|--(?:file|exec)(?:=(.*))?", re.DOTALL)


def awk(scope: Scope, words: Sequence[Word]) -> None:
    """`awk`: a program that can run commands and write files."""
    for kind, word in _parts(words):
        if kind == "file":
            run_script(scope, words[0].text, word, lambda code: _check(scope, words[0].text, code))
            for path in scope.matches(word) or ():
                _check(scope, words[0].text, scope.around.content(path) or "")
        elif kind == "option":
            scope.found.unclear(f"'{words[0].text} {word.text}' loads code or writes a file")
        else:
            _check(scope, words[0].text, word.text)


def _parts(words: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    """Yield the program: `code`, a `file` with code, and every `option` that loads or writes something."""
    rest, given = iter(words[1:]), False
    for word in rest:
        text = word.text
        matches = {"code": _CODE.fullmatch(text), "file": _FILES.fullmatch(text)}
        kind = next((kind for kind, match in matches.items() if match), "")
        if not text.startswith("-") or text in ("-", "--"):
            program = next(rest, None) if text == "--" else word
            if not given and program is not None:
                yield "code", program
            return
        if kind:
            given, match = True, matches[kind]
            value = next((group for group in match.groups() if group), "") if match else ""
            yield kind, word._replace(text=value) if value else next(rest, Word(""))
        elif _WRITES.fullmatch(text) or _LOADS.fullmatch(text):
            yield "option", word
            if text in ("-i", "-l", "--include", "--load"):
                next(rest, None)
        elif text in _VALUED:
            next(rest, None)


def _check(scope: Scope, name: str, program: str) -> None:
    if UNRESOLVED in program:
        scope.found.unclear(f"part of its '{name}' program is only known when it runs")
    elif not harmless(program):
        scope.found.unclear(f"its '{name}' program runs commands or writes files")


def harmless(program: str) -> bool:
    """Whether the program only reads its input and prints."""
    if _RUNS.search(program):
        return False
    printing = -1
    for kind, text, end, depth in _tokens(program):
        if kind == "name" and text in ("print", "printf"):
            printing = depth
        elif kind == "mark":
            redirects = text == ">" and depth == printing and not _STANDARD.match(program, end)
            if redirects or text in '"|':
                return False
            printing = -1 if text in ";{}\n" else printing
    return True


def _tokens(program: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the kind of each token, its text, where it ends, and in how many parentheses it stands."""
    at, before, operand = 0, "", False
    conditions: list[bool] = []
    while at < len(program):
        pattern = None if operand or program[at] != "/" else _PATTERN.match(program, at)
        token = pattern or _TOKEN.match(program, at)
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
    """Whether a slash behind the token divides."""
    if kind in ("space", "step", "comment"):
        return before
    names = kind == "name" and text not in _BEFORE_PATTERN
    return names or kind in ("string", "number", "pattern") or text in (")", "]")
