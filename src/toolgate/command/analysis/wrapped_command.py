"""Finds and analyses the command that a wrapper such as `timeout` or `xargs` runs."""

import itertools
import re
from collections.abc import Iterator, Sequence

from toolgate.command.analysis.options import attached_value, next_word
from toolgate.command.analysis.program import Program
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.variables import assign
from toolgate.command.words import UNRESOLVED, Word

_MAX_MARKS = 8
_MARKS = re.compile(r"-[0rtpxokmX]*([IJi])(.*)", re.DOTALL)
"""`-I mark`, `-i`, and the same at the end of a cluster of flags."""
_TEMPLATE = re.compile(r"\{(?:[-+]?\d*(?://|/\.|/|\.)?|#|%|=.*?=)\}")
"""What `parallel` replaces: `{}`, `{.}`, `{/}`, `{//}`, `{/.}`, `{1}`, `{#}`, `{= code =}` …"""
_VALUE = "$parallel_value"


def unwrap(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Analyse the command that `words` wrap, from every position where it may begin."""
    words = list(words)
    if next_word(words, 0).text in facts.checks:
        return
    if facts.after:
        for at in [at for at, word in enumerate(words) if word.text in facts.after][:1]:
            _analyse_after_word(scope, words[at + 1 :], facts)
        return
    if facts.verbs:
        at = next((i for i, word in enumerate(words[1:], 1) if word.text in facts.verbs), len(words))
        pairs = itertools.pairwise(words[:at])  # before the verb, there are only options and their values
        if at < len(words) and all(word.text.startswith("-") or before.text.startswith("-") for before, word in pairs):
            words = words[at:]
        elif not facts.optional_verb:
            return
    for start in _starts(scope, words, facts):
        inner = words[start:]
        if not inner and words[0].text == "parallel":
            scope.findings.add_unclear("'parallel' runs the commands that it reads")
        if facts.joins and inner and not facts.appends:
            analyse_code_words(scope, words[0].text, inner)
        else:
            _analyse_inner(scope, words, inner, facts)


def _analyse_after_word(scope: Scope, inner: Sequence[Word], facts: Program) -> None:
    """Analyse the command after a word such as `-x`. Words that are added to it also replace `{}`, as in `fd -x`."""
    if facts.language:
        inner = [Word(facts.language), *inner]
    if facts.appends:
        scope.analyse_repeated([*(_filled(word) for word in inner), Word(UNRESOLVED, False)])
    else:
        scope.analyse_command(inner)


def _filled(word: Word) -> Word:
    text = _TEMPLATE.sub(UNRESOLVED, word.text)
    return word._replace(text=text, known=word.known and text == word.text)


def _analyse_inner(scope: Scope, words: Sequence[Word], inner: list[Word], facts: Program) -> None:
    options = words[: len(words) - len(inner)]
    if facts.joins and inner:
        _analyse_template(scope, options, inner)
        return
    marks = _find_marks(options) if facts.appends else []
    if len(marks) > _MAX_MARKS:
        scope.findings.add_unclear(f"'{words[0].text}' replaces too many marks to follow")
        return
    for mark in marks:
        inner = [w._replace(text=w.text.replace(mark, UNRESOLVED), known=w.known and mark not in w.text) for w in inner]
    if facts.appends and inner and not marks:
        inner = [*inner, Word(UNRESOLVED, False)]
    if facts.appends:
        scope.analyse_repeated(inner)
    else:
        scope.analyse_command(inner)


def _analyse_template(scope: Scope, options: Sequence[Word], inner: Sequence[Word]) -> None:
    """Analyse the words of `parallel`, which are code when joined. The values that it inserts are quoted."""
    code = " ".join(word.text for word in inner)
    filled = _TEMPLATE.sub(_VALUE, code)
    for mark in _find_marks(options):
        filled = filled.replace(mark, _VALUE)
    if filled == code:
        filled = f"{code} {_VALUE}"
    before, scope.repeated = scope.repeated, True
    analyse_code_words(scope, options[0].text, [Word(filled, all(word.known for word in inner))])
    scope.repeated = before


def _find_marks(options: Sequence[Word]) -> list[str]:
    """Return the placeholders that options such as `xargs -I` name: words that are not known replace them."""
    marks: list[str] = []
    for at, word in enumerate(options):
        name, equals, value = word.text.partition("=")
        cluster = _MARKS.fullmatch(word.text)
        if name == "--replace":
            marks.append(value if equals else "{}")
        elif cluster and cluster.group(1) == "i":
            marks.append(cluster.group(2) or "{}")
        elif cluster:
            marks.append(cluster.group(2) or next_word(options, at).text)
    return list(dict.fromkeys(mark for mark in marks if mark))


def analyse_code_words(scope: Scope, name: str, inner: Sequence[Word], *, here: bool = False) -> None:
    """Analyse words that `name` runs as shell code, in a shell of its own or (`here`) in this one."""
    if not all(word.known for word in inner):
        scope.findings.add_unclear(f"part of the code that '{name}' runs is only known when it runs")
    scope.analyse_code(" ".join(word.text for word in inner), here=here)


def _starts(scope: Scope, words: Sequence[Word], facts: Program) -> Iterator[int]:
    """Yield the positions where the wrapped command may begin: an unknown option may or may not have a value."""
    at, skip = 1, facts.skip
    guesses: set[int] = set()
    while at < len(words):
        word = words[at]
        text = word.text
        if text == "--":
            at += 1
            break
        name, equals, value = text.partition("=")
        attached = value if name in facts.code else attached_value(text, facts.code, facts.values)
        if attached is not None:
            code = word._replace(text=attached) if attached else next_word(words, at)
            analyse_code_words(scope, words[0].text, [code])
            at += 1 if attached else 2
        elif facts.sets and equals and name.removesuffix("+").isidentifier():
            assign(scope, name.removesuffix("+"), word._replace(text=value), words[at + 1 :])
            at += 1
        elif text in facts.values:
            at += 2
        elif (text.startswith("-") and len(text) > 1) or text in facts.flags:
            values = _value_count(text, facts)
            if values is None and not equals:
                guesses.add(at + 2)
            at += 1 + (values or 0)
        elif skip:
            skip -= 1
            at += 1
        else:
            break
    yield at + skip if skip and facts.skip < 9 and at < len(words) else at
    later = {*guesses, *(guess + facts.skip for guess in guesses)}
    yield from sorted(guess for guess in later if at < guess < len(words))


def _value_count(text: str, facts: Program) -> int | None:
    """Return how many words after an option, or a cluster of letters, belong to it; None if that is not known."""
    if text in facts.flags:
        return 0
    if text.startswith("--"):
        return None
    for at, letter in enumerate(text[1:], 1):
        if f"-{letter}" in facts.values:
            return int(at + 1 == len(text))
        if f"-{letter}" not in facts.flags:
            return None
        if facts.appends and letter in "ile":
            return 0
    return 0
