"""Programs that run commands in a way of their own: `cmake -E`, `jobs -x`, `zip -TT`, foreign shells."""

import re
from collections.abc import Sequence

from toolgate.command.analysis.files import operands
from toolgate.command.analysis.known import names
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import Word

FOREIGN_SHELLS = names("csh tcsh fish pwsh powershell nu elvish xonsh rc es ion murex ngs")
"""Shells whose language is not bash's."""
_CODE_OPTION = re.compile(r"-[a-zA-Z]*c|--commands?|-c[a-z]*|-e|--execute", re.IGNORECASE)
_CMAKE = {"remove": "rm", "remove_directory": "rm", "rename": "mv", "copy": "cp", "copy_if_different": "cp"}
_ZIP_TEST = re.compile(r"(?:-[a-zA-Z]*TT|--unzip-command)(?:=(.*))?", re.DOTALL)


def cmake(scope: Scope, words: Sequence[Word]) -> None:
    """`cmake -E command`: a command of its own, or one that it runs."""
    for at, word in enumerate(words[1:-1], 1):
        if word.text == "-E":
            inner = list(words[at + 1 :])
            if inner[0].text == "chdir":
                inner = inner[2:]
            elif inner[0].text in _CMAKE:
                inner[0] = inner[0]._replace(text=_CMAKE[inner[0].text])
            scope.run(inner)
            return


def jobs(scope: Scope, words: Sequence[Word]) -> None:
    """`jobs -x command`."""
    if [word.text for word in words[1:2]] == ["-x"]:
        scope.run(words[2:])


def zip_archive(scope: Scope, words: Sequence[Word]) -> None:
    """`zip -T -TT code`: the command that tests the archive."""
    for at, word in enumerate(words[1:], 1):
        if match := _ZIP_TEST.fullmatch(word.text):
            given = match.group(1)
            code = words[at + 1].text if given is None and at + 1 < len(words) else given or ""
            scope.code(code)


def each_operand(scope: Scope, words: Sequence[Word]) -> None:
    """`concurrently 'a' 'b'`: every operand is code."""
    for word in operands(words, names("-n --names -c --prefix-colors -p --prefix -m --max-processes -s --success")):
        if not word.known:
            scope.found.unclear(f"part of what '{words[0].text}' runs is only known when it runs")
        scope.code(word.text)


def foreign_shell(scope: Scope, words: Sequence[Word]) -> None:
    """A shell of another language: its code is searched as if it were bash's, and asked about."""
    name = words[0].text
    for at, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        if _CODE_OPTION.fullmatch(option):
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
