"""Programs with words of their own for running others or writing files: editors, debuggers, `make`, `man`, `uniq`."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.files import operands
from toolgate.command.analysis.known import names
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.unwrap import unwrap
from toolgate.command.analysis.wrappers import WRAPPERS
from toolgate.command.words import Word

_EDITS = re.compile(r"-[a-zA-Z]*[cesS]|--cmd|--eval(=.*)?|-f|--funcall(=.*)?|--load(=.*)?|-l|\+.*")
_MOVES = re.compile(r"\+\+?(?:\d*[gGpP%]?|F|[/?][^\n]*)")
"""What a pager may be told without running or writing anything: to go to a line, to search, or to follow the file."""
_GDB_RUNS = re.compile(r"!|\||\b(?:shell|make|pipe|python|py|guile|call|compile|source|system)\b")
_GDB_CODE = frozenset({"-ex", "-iex", "--ex", "--iex", "-eval-command", "--eval-command"})
_UNIQ_VALUED = names("-f --skip-fields -s --skip-chars -w --check-chars")
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def editor(scope: Scope, words: Sequence[Word]) -> None:
    """Editors: commands from options or from standard input may run anything and write anywhere."""
    told = any(_EDITS.fullmatch(word.text) and word.text != "-e" for word in words[1:])
    if told or (scope.stdin is not None and words[0].text in ("ed", "ex", "vi", "vim", "nvim")):
        scope.found.unclear(f"'{words[0].text}' is given commands, which may run programs or write files")


def pager(scope: Scope, words: Sequence[Word]) -> None:
    """`less` and `more`: a command behind `+` may run a program or write a file."""
    if any(word.text.startswith(("+", "--cmd")) and not _MOVES.fullmatch(word.text) for word in words[1:]):
        scope.found.unclear(f"'{words[0].text}' is given commands, which may run programs or write files")


def gdb(scope: Scope, words: Sequence[Word]) -> None:
    """`gdb -ex 'shell …'`, a file of its commands, and the program that it runs."""
    for at, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        following = words[at + 1].text if at + 1 < len(words) else ""
        if name in _GDB_CODE and _GDB_RUNS.search(value if equals else following):
            scope.found.unclear("its 'gdb' commands may run programs")
        elif name in ("-x", "--command", "-command") or (at and not word.known):
            scope.found.unclear("what 'gdb' runs is only known when it runs")
    unwrap(scope, words, WRAPPERS["gdb"])


def make(scope: Scope, words: Sequence[Word]) -> None:
    """`make`: rules that do not come from a file of the project."""
    for at, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name in ("--eval", "-E"):
            scope.found.unclear("'make --eval' adds rules that run programs")
        elif name in ("-f", "--file", "--makefile"):
            file = word._replace(text=value) if equals else words[at + 1] if at + 1 < len(words) else Word("")
            if not file.known or file.text in _STDIN:
                scope.found.unclear("the rules of 'make' are only known when it runs")


def man(scope: Scope, words: Sequence[Word]) -> None:
    """`man -P program`."""
    if any(re.match(r"-[PH]|--pager|--html|--preprocessor", word.text) for word in words[1:]):
        scope.found.unclear("'man' is told to run another program")


def capsh(scope: Scope, words: Sequence[Word]) -> None:
    """`capsh -- …` runs bash with what follows."""
    for at, word in enumerate(words):
        if word.text in ("--", "==", "-+", "=+"):
            scope.run([Word("bash"), *words[at + 1 :]])
            return


def calculator(scope: Scope, words: Sequence[Word]) -> None:
    """`m4` and `dc` have commands that run programs."""
    texts = [word.text for word in words[1:]] + ([scope.stdin.word.text] if scope.stdin else [])
    if any("syscmd" in text or "!" in text for text in texts) or (scope.stdin and scope.stdin.kind == "pipe"):
        scope.found.unclear(f"'{words[0].text}' may be told to run programs")


def uniq(scope: Scope, words: Sequence[Word]) -> None:
    """`uniq input output`."""
    for word in operands(words, _UNIQ_VALUED)[1:2]:
        scope.write(word)


def openssl(scope: Scope, words: Sequence[Word]) -> None:
    """`openssl … -out file`."""
    for at, word in enumerate(words[:-1]):
        if word.text in ("-out", "-keyout", "-writerand"):
            scope.write(words[at + 1])
