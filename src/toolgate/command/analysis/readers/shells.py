"""Shells: their code is analysed, whether it is given as an option, as a script or on standard input."""

import re
from collections.abc import Callable, Sequence

from toolgate.command.analysis.program import program
from toolgate.command.analysis.scope import STDIN_FILES, Scope
from toolgate.command.words import Word

_FOREIGN_CODE = re.compile(r"-[a-zA-Z]*c|--commands?|-c[a-z]*|-e|--execute", re.IGNORECASE)


def shell(scope: Scope, words: Sequence[Word]) -> None:
    """`sh`, `bash` and others: `-c` code, a script, or commands from standard input."""
    name = words[0].text
    reads_code, at = False, 1
    while at < len(words):
        word = words[at]
        if not word.known:
            scope.found.unclear(f"what '{name}' runs is only known when it runs")
            return
        if not word.text.startswith(("-", "+")) or word.text in ("-", "--"):
            break
        reads_code = reads_code or (not word.text.startswith("--") and "c" in word.text[1:] and word.text[0] == "-")
        if word.text in ("--version", "--help"):
            return
        if word.text in ("--rcfile", "--init-file") and at + 1 < len(words):
            run_script(scope, name, words[at + 1], scope.code)
        at += 1 + _values(word.text)
    at += at < len(words) and words[at].text in ("-", "--")
    rest = words[at:]
    if reads_code:
        _code(scope, name, rest[:1])
    elif rest and not any(word.text.startswith("-") and "s" in word.text for word in words[1:at]):
        run_script(scope, name, rest[0], scope.code)
    else:
        run_stdin(scope, name, scope.code)


def _values(option: str) -> int:
    """How many words behind an option belong to it."""
    if option.startswith("--"):
        return 1 if option in ("--rcfile", "--init-file") else 0
    return sum(letter in "oO" for letter in option[1:])


def run_script(scope: Scope, name: str, word: Word, use: Callable[[str], None]) -> None:
    """A file of code, which may be standard input by another name."""
    if word.text in STDIN_FILES:
        run_stdin(scope, name, use)
        return
    paths = scope.script(word)
    if not word.known:
        scope.found.unclear(f"the script of '{name}' is only known when it runs")
    elif program(name).shell or name in (".", "source"):
        for path in paths:
            scope.follow(path, here=not program(name).shell)


def _code(scope: Scope, name: str, code: Sequence[Word]) -> None:
    if not code:
        return
    if not code[0].known:
        scope.found.unclear(f"part of the code that '{name}' runs is only known when it runs")
    scope.code(code[0].text)


def run_stdin(scope: Scope, name: str, use: Callable[[str], None]) -> None:
    """Code that a program reads from its standard input."""
    stdin = scope.stdin
    if stdin is None:
        return
    if stdin.kind == "text":
        if not stdin.word.known:
            scope.found.unclear(f"part of the code that '{name}' reads is only known when it runs")
        use(stdin.word.text)
    elif stdin.kind == "file" and stdin.word.known:
        for path in scope.script(stdin.word) if program(name).shell else ():
            scope.follow(path)
    else:
        scope.found.unclear(f"'{name}' runs what it reads from a pipe")


def evaluate(scope: Scope, words: Sequence[Word]) -> None:
    """`eval`: its words, joined, are code."""
    if [word.text for word in words[1:2]] == ["--"]:
        words = words[1:]
    if all(word.known for word in words[1:]):
        scope.found.changes = True
    else:
        scope.found.unclear("part of what 'eval' runs is only known when it runs")
    scope.code(" ".join(word.text for word in words[1:]), here=True)


def source(scope: Scope, words: Sequence[Word]) -> None:
    """`.` and `source`: a script that runs in this very shell."""
    for word in words[1:2]:
        run_script(scope, words[0].text, word, scope.code)


def trap(scope: Scope, words: Sequence[Word]) -> None:
    """`trap`: code for later."""
    if len(words) > 2 and words[1].text not in ("-", "", "-l", "-p", "--"):
        _code(scope, "trap", words[1:2])
    elif len(words) > 3 and words[1].text == "--":
        _code(scope, "trap", words[2:3])


def alias(scope: Scope, words: Sequence[Word]) -> None:
    """`alias name=code`: code for later."""
    for word in words[1:]:
        _, equals, code = word.text.partition("=")
        if equals:
            _code(scope, "alias", [word._replace(text=code)])


def foreign_shell(scope: Scope, words: Sequence[Word]) -> None:
    """A shell of another language: its code is searched as if it were bash's, and asked about."""
    name = words[0].text
    for at, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        if _FOREIGN_CODE.fullmatch(option):
            rest = [word._replace(text=value)] if equals else words[at + 1 :]
            scope.code(" ".join(inner.text for inner in rest))
            scope.found.unclear(f"'{name}' runs code that is not bash's")
            return
        if word.text.lower().startswith(("-enc", "-ec")) and name in ("pwsh", "powershell"):
            scope.found.unclear(f"'{name}' runs code that is not readable")
        elif not word.text.startswith("-"):
            scope.script(word)
            return
    if scope.stdin is not None:
        scope.code(scope.stdin.word.text)
        scope.found.unclear(f"'{name}' runs what it reads")
