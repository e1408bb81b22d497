"""Notes what a command's effect depends on besides its words: build files, lists of files, input, files it finds."""

import re
from collections.abc import Iterator, Sequence

from toolgate.command.analysis.options import next_word, option_values
from toolgate.command.analysis.program import Program, program
from toolgate.command.analysis.scope import Scope, descriptor_of
from toolgate.command.words import Word

_MAX_OPERANDS = 200
"""Words that are looked up as files; a command with more is asked about every time."""
_MAKEFILES = [Word("GNUmakefile"), Word("makefile"), Word("Makefile")]
_EARLIER = re.compile(r"-|[-+][0-9]+")
_ACTS = re.compile(r"-(?:delete|exec|execdir|ok|okdir|fls|fprint\w*)|-x|-X|--exec(?:-batch)?(?:=.*)?")
_LISTS = re.compile(r"(?:-a|-T|--arg-file|--files-from|--files0-from|--pathspec-from-file|--exclude-from|--from-file)")
"""Options of well-known programs whose value is a file that names others."""


def note_dependencies(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Note the files and the input that the effect of a command depends on, and what is only known when it runs."""
    findings, name = scope.findings, words[0].text.rpartition("/")[2]
    if scope.stdin is not None and scope.stdin.kind == "pipe" and not facts.reads:
        findings.unresolved[f"'{name}' reads what another command prints"] = None
    if name in ("find", "gfind", "fd", "fdfind") and any(_ACTS.fullmatch(word.text) for word in words[1:]):
        findings.unresolved[f"what '{name}' finds is only known when it runs"] = None
    if name in ("cd", "pushd"):
        findings.variables["CDPATH"] = None
    if name in ("popd", "dirs") or (
        name in ("cd", "pushd") and any(_EARLIER.fullmatch(word.text) for word in words[1:])
    ):
        findings.variables["OLDPWD"] = None
        findings.unresolved["it goes back to an earlier directory"] = None
    if name in ("make", "gmake"):
        _makefiles(scope, words)
    for file in facts.build_files:
        _note_file(scope, file)
    if len(words) > _MAX_OPERANDS and not facts.well_known:
        findings.unresolved["it has too many words to look each up"] = None
        return
    for file in _named_files(words, facts):
        _note_file(scope, file)


def _named_files(words: Sequence[Word], facts: Program) -> Iterator[str]:
    """Yield words that may be files which the program reads.

    The operands of a well-known program are the files that it acts on. Only those count that list other files.
    """
    for at, word in enumerate(words[1:], 1):
        option, _, value = word.text.partition("=")
        if facts.lists and word.text.startswith(facts.lists) and len(word.text) > len(facts.lists):
            yield word.text[len(facts.lists) :]
        elif not facts.well_known:
            yield value or word.text
        elif _LISTS.fullmatch(option):
            yield value or next_word(words, at).text


def _note_file(scope: Scope, text: str) -> None:
    if not text or text.startswith("-"):
        return
    if any(scope.surroundings.kind(path) == "file" for path in scope.locate(text).paths):
        scope.note_input(Word(text))


def _makefiles(scope: Scope, words: Sequence[Word]) -> None:
    """Note the makefile as a script. Which file it is depends on `-f` and `-C`."""
    valued = program("make").values
    directory = "".join(f"{word.text}/" for word in option_values(words, ("-C", "--directory"), valued))
    for file in list(option_values(words, ("-f", "--file", "--makefile"), valued)) or _MAKEFILES:
        if not file.known or descriptor_of(file.text) is not None:
            scope.findings.add_unclear("the rules of 'make' are only known when it runs")
        for path in scope.locate(directory + file.text).paths:
            if scope.surroundings.kind(path) == "file":
                scope.findings.scripts[path] = None
