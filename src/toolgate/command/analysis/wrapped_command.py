"""Finding the command that a wrapper runs."""

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


def unwrap(scope: Scope, words: Sequence[Word], known: Program) -> None:
    """Look at the command that `words` wrap, in every place where it may begin."""
    words = list(words)
    if next_word(words, 0).text in known.checks:
        return
    if known.after:
        for at in [at for at, word in enumerate(words) if word.text in known.after][:1]:
            _run_after_word(scope, words[at + 1 :], known)
        return
    if known.verbs:
        at = next((i for i, word in enumerate(words[1:], 1) if word.text in known.verbs), len(words))
        pairs = itertools.pairwise(words[:at])  # before the verb, there are only options and their values
        if at < len(words) and all(word.text.startswith("-") or before.text.startswith("-") for before, word in pairs):
            words = words[at:]
        elif not known.optional_verb:
            return
    for start in _starts(scope, words, known):
        inner = words[start:]
        if not inner and words[0].text == "parallel":
            scope.found.unclear("'parallel' runs the commands that it reads")
        if known.joins and inner and not known.appends:
            run_code(scope, words[0].text, inner)
        else:
            _run_inner(scope, words, inner, known)


def _run_after_word(scope: Scope, inner: Sequence[Word], known: Program) -> None:
    """Look at the command after a word such as `-x`; words that are added to it also replace `{}`, as in `fd -x`."""
    if known.language:
        inner = [Word(known.language), *inner]
    if known.appends:
        scope.repeat([*(_filled(word) for word in inner), Word(UNRESOLVED, False)])
    else:
        scope.run(inner)


def _filled(word: Word) -> Word:
    text = _TEMPLATE.sub(UNRESOLVED, word.text)
    return word._replace(text=text, known=word.known and text == word.text)


def _run_inner(scope: Scope, words: Sequence[Word], inner: list[Word], known: Program) -> None:
    options = words[: len(words) - len(inner)]
    if known.joins and inner:
        _run_template(scope, options, inner)
        return
    marks = _find_marks(options) if known.appends else []
    if len(marks) > _MAX_MARKS:
        scope.found.unclear(f"'{words[0].text}' replaces too many marks to follow")
        return
    for mark in marks:
        inner = [w._replace(text=w.text.replace(mark, UNRESOLVED), known=w.known and mark not in w.text) for w in inner]
    if known.appends and inner and not marks:
        inner = [*inner, Word(UNRESOLVED, False)]
    if known.appends:
        scope.repeat(inner)
    else:
        scope.run(inner)


def _run_template(scope: Scope, options: Sequence[Word], inner: Sequence[Word]) -> None:
    """`parallel`: its words, joined, are code; the values that it puts in are quoted for the shell."""
    code = " ".join(word.text for word in inner)
    filled = _TEMPLATE.sub(_VALUE, code)
    for mark in _find_marks(options):
        filled = filled.replace(mark, _VALUE)
    if filled == code:
        filled = f"{code} {_VALUE}"
    before, scope.repeated = scope.repeated, True
    run_code(scope, options[0].text, [Word(filled, all(word.known for word in inner))])
    scope.repeated = before


def _find_marks(options: Sequence[Word]) -> list[str]:
    """The marks that options such as `xargs -I` name: words that are not known replace them."""
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


def run_code(scope: Scope, name: str, inner: Sequence[Word], *, here: bool = False) -> None:
    """Look at words that `name` runs as shell code, in a shell of its own or (`here`) in this one."""
    if not all(word.known for word in inner):
        scope.found.unclear(f"part of the code that '{name}' runs is only known when it runs")
    scope.code(" ".join(word.text for word in inner), here=here)


def _starts(scope: Scope, words: Sequence[Word], known: Program) -> Iterator[int]:
    """Where the wrapped command may begin; an unknown option may or may not have a value."""
    at, skip = 1, known.skip
    guesses: set[int] = set()
    while at < len(words):
        word = words[at]
        text = word.text
        if text == "--":
            at += 1
            break
        name, equals, value = text.partition("=")
        attached = value if name in known.code else attached_value(text, known.code, known.values)
        if attached is not None:
            code = word._replace(text=attached) if attached else next_word(words, at)
            run_code(scope, words[0].text, [code])
            at += 1 if attached else 2
        elif known.sets and equals and name.removesuffix("+").isidentifier():
            assign(scope, name.removesuffix("+"), word._replace(text=value), words[at + 1 :])
            at += 1
        elif text in known.values:
            at += 2
        elif (text.startswith("-") and len(text) > 1) or text in known.flags:
            values = _value_count(text, known)
            if values is None and not equals:
                guesses.add(at + 2)
            at += 1 + (values or 0)
        elif skip:
            skip -= 1
            at += 1
        else:
            break
    yield at + skip if skip and known.skip < 9 and at < len(words) else at
    later = {*guesses, *(guess + known.skip for guess in guesses)}
    yield from sorted(guess for guess in later if at < guess < len(words))


def _value_count(text: str, known: Program) -> int | None:
    """How many words after an option, or a cluster of letters, belong to it; None if that is not known."""
    if text in known.flags:
        return 0
    if text.startswith("--"):
        return None
    for at, letter in enumerate(text[1:], 1):
        if f"-{letter}" in known.values:
            return int(at + 1 == len(text))
        if f"-{letter}" not in known.flags:
            return None
        if known.appends and letter in "ile":
            return 0
    return 0
