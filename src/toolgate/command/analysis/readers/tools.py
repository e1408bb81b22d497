"""Programs that run commands or send data in a way of their own: build tools, debuggers, clients of servers."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.effects import LOCAL, SENDING_METHODS
from toolgate.command.analysis.options import has, operands, option_values
from toolgate.command.analysis.program import REASONS
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.unknown_programs import suspect
from toolgate.command.words import Word

_CMAKE = {"remove": "rm", "remove_directory": "rm", "rename": "mv", "copy": "cp", "copy_if_different": "cp"}
_GDB_RUNS = re.compile(r"!|\||\b(?:shell|make|pipe|python|py|guile|call|compile|source|system)\b")
_GDB_CODE = frozenset({"-ex", "-iex", "--ex", "--iex", "-eval-command", "--eval-command"})
_MAKE_VARIABLE = re.compile(r"[A-Za-z_.][\w.]*[:+?]*=")
_PUBLISHING_SCRIPT = re.compile(r"(?:publish|deploy|upload)\b")
_LOCAL_PORT = re.compile(r":[\d/]")
_BODY_ITEM = re.compile(r"[^:=@/?\s]+(?::?=(?!=)|@)")
"""`name=value`, `name:=json` and `name@file`; `name==value` and `Name:value` are not part of a request's body."""
_FORGE_READS = frozenset("list view status diff checks checkout watch search download clone".split())
_LOCAL_WITH_GLOBAL = frozenset({"list", "ls", "root", "bin", "config", "run"})


def cmake(scope: Scope, words: Sequence[Word]) -> None:
    """`cmake -E command`: a command of its own, or one that it runs."""
    at = next((at for at, word in enumerate(words[:-1]) if word.text == "-E"), None)
    if at is not None:
        inner = list(words[at + 1 :])
        if inner[0].text == "chdir":
            inner = inner[2:]
        elif inner[0].text in _CMAKE:
            inner[0] = inner[0]._replace(text=_CMAKE[inner[0].text])
        scope.analyse_command(inner)


def make(scope: Scope, words: Sequence[Word]) -> None:
    """`make`: variables that run something."""
    if any("$(shell" in word.text or "${shell" in word.text or "!=" in word.text for word in words[1:]):
        scope.findings.add_unclear("a variable of 'make' is what a command prints")
    suspect(scope, [words[0], *(word for word in words[1:] if _MAKE_VARIABLE.match(word.text))])


def package_scripts(scope: Scope, words: Sequence[Word]) -> None:
    """`npm run publish`, and packages that are installed for the whole system."""
    given = [word.text for word in operands(words)]
    if given[:1] in (["run"], ["run-script"]) and len(given) > 1 and _PUBLISHING_SCRIPT.match(given[1]):
        scope.findings.add_danger(f"'{words[0].text}': {REASONS['publishes']}")
    if has(words, "-g", "--global") and _LOCAL_WITH_GLOBAL.isdisjoint(given[:1]):
        scope.findings.add_danger(f"'{words[0].text}': {REASONS['system']}")


def gdb(scope: Scope, words: Sequence[Word]) -> None:
    """`gdb -ex 'shell …'`, and a file of its commands."""
    if any(_GDB_RUNS.search(code.text) for code in option_values(words, _GDB_CODE)):
        scope.findings.add_unclear("its 'gdb' commands may run programs")
    if any(option_values(words, ("-x", "--command", "-command"))) or not all(word.known for word in words[1:]):
        scope.findings.add_unclear("what 'gdb' runs is only known when it runs")


def curl(scope: Scope, words: Sequence[Word]) -> None:
    """`curl -O address`: the file is called as at the end of the address."""
    if has(words, "-O", "--remote-name", "--remote-name-all"):
        for word in operands(words):
            if "/" in word.text:
                scope.note_write(word._replace(text=posixpath.basename(word.text.partition("?")[0]) or "index.html"))


def http(scope: Scope, words: Sequence[Word]) -> None:
    """`http POST address name=value`; a request with a body is a POST even without the word."""
    given = [word.text for word in operands(words)]
    method = given[0].upper() if given and given[0].isalpha() else ""
    address, items = given[bool(method) :][:1], given[bool(method) :][1:]
    piped = scope.stdin is not None and not has(words, "--ignore-stdin")
    sends = method in SENDING_METHODS or piped or any(map(_BODY_ITEM.match, items))
    if sends and not any(LOCAL.match(text) or _LOCAL_PORT.match(text) for text in address):
        scope.findings.add_danger(f"'{words[0].text}': it sends data to another machine")


def forge(scope: Scope, words: Sequence[Word]) -> None:
    """`gh` and `glab`: whatever does not only read is published."""
    given = [word.text for word in operands(words)]
    if given[:1] == ["api"]:
        publishes = has(words, "-X", "-f", "-F", "--method", "--field", "--raw-field", "--input")
    else:
        publishes = len(given) > 1 and given[1] not in _FORGE_READS and given[0] != "search"
    if publishes:
        scope.findings.add_danger(f"'gh': {REASONS['publishes']}")
