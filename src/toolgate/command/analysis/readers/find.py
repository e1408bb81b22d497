"""`find`: starting points, and actions that run, remove or write."""

from collections.abc import Sequence

from toolgate.command.analysis.program import program
from toolgate.command.analysis.readers.sed import edits_in_place
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls", "-cpio", "-ncpio"})


def find(scope: Scope, words: Sequence[Word]) -> None:
    """`find`: starting points, and actions that run, remove or write."""
    at = 1
    reads = _only_reads(words)
    while at < len(words) and not words[at].text.startswith(("-", "(", "!", "\\")):
        scope.note_path(words[at].text, reads=reads)
        if at > 1 and not words[at].is_single:
            scope.findings.add_unclear("what 'find' does is only known when it runs")
        at += 1
    while at < len(words):
        text = words[at].text
        if text in _RUNS:
            end = next((i for i in range(at, len(words)) if words[i].text == ";" or _plus(words, i)), len(words))
            scope.analyse_repeated([_found(word) for word in words[at + 1 : end]])
            at = end
        elif text == "-delete":
            removed = (word.text for word in words[1:at] if not word.text.startswith("-"))
            scope.findings.commands[("rm", *removed)] = None
            scope.findings.add_danger("it removes files")
        elif text in _WRITES and at + 1 < len(words):
            scope.note_write(words[at + 1])
        elif not words[at].known and text.startswith(UNRESOLVED) and not is_value(words, at):
            scope.findings.add_unclear("what 'find' does is only known when it runs")
        at += 1


def _only_reads(words: Sequence[Word]) -> bool:
    """Whether `find` changes nothing: it runs only commands that read."""
    runs = [words[at + 1 :] for at, word in enumerate(words[:-1]) if word.text in _RUNS]
    reads = all(program(command[0].text).reads and not edits_in_place(command) for command in runs)
    return reads and not any(word.text == "-delete" for word in words)


def is_value(words: Sequence[Word], at: int) -> bool:
    """Whether the word belongs to the test before it."""
    before = words[at - 1].text
    return before.startswith("-") and before not in program("find").flags


def _plus(words: Sequence[Word], at: int) -> bool:
    return words[at].text == "+" and words[at - 1].text == "{}"


def _found(word: Word) -> Word:
    if "{}" not in word.text:
        return word
    return word._replace(text=word.text.replace("{}", UNRESOLVED), known=False)
