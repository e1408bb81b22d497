"""Finds words that may become options when the shell expands them."""

import fnmatch
import re
from collections.abc import Sequence

from toolgate.command.analysis.program import Program
from toolgate.command.analysis.readers.find import is_value
from toolgate.command.analysis.scope import Scope
from toolgate.command.words import UNRESOLVED, Word

_EXPANDS = re.compile(r"[*?\[{]")
_PATTERN = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{[^/]*\}")
_DASH = re.compile(r"[{,]-")


def note_hidden_options(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Note words that may become options, if an option can make the program run or write something.

    If a word depends on a variable or a substitution, a rule that allows the program does not cover it. A pattern or a
    brace expansion that becomes an option needs approval.
    """
    if not facts.options_matter or all(word.known for word in words):
        return
    for at, word in enumerate(words[1:], 1):
        if word.text == "--" and facts.reader != "find.find":
            return
        if word.known:
            continue
        if word.is_single and _is_value(words, at, facts):
            continue
        name = word.text.partition("=")[0] if word.text.startswith("-") else word.text[:1]
        if UNRESOLVED in name:
            scope.findings.add_uncovered()
        elif option := _expanded(scope, word.text, facts):
            typed = word.raw or word.text
            scope.findings.add_unclear(f"'{typed}' may become '{option}', an option of '{words[0].text}'")


def _is_value(words: Sequence[Word], at: int, facts: Program) -> bool:
    if facts.reader == "find.find":
        return is_value(words, at)
    return words[at - 1].text in facts.values or words[at - 1].text in facts.texts


def _expanded(scope: Scope, text: str, facts: Program) -> str:
    """Return the option that a pattern or a brace expansion may become; empty if it becomes none."""
    if text.startswith("-"):
        name = text.partition("=")[0]
        attached = facts.builds and _EXPANDS.search(name[:2]) is None  # `gcc -I{a,b}`
        return text if _EXPANDS.search(name) and not attached else ""
    if text.startswith("{") and (match := _DASH.search(text)):
        return text[match.start() + 1 :]
    first = _BRACES.sub("*", text.partition("/")[0])
    return _matched(scope, first) if _PATTERN.search(first) else ""


def _matched(scope: Scope, pattern: str) -> str:
    """Return a file name that begins with a dash and that the pattern matches now; empty if there is none."""
    for directory in scope.cwds:
        entries = None if directory is None or directory.startswith("/") else scope.surroundings.entries(directory)
        if entries is None:
            scope.findings.add_uncovered()
        for name in entries or ():
            if name.startswith("-") and fnmatch.fnmatchcase(name, pattern):
                return name
    return ""
