"""Applies the table's facts to one command: what it runs, writes and sends, and why it needs approval."""

import functools
import re
from collections.abc import Callable, Sequence
from importlib import import_module

from toolgate.command.analysis import readers
from toolgate.command.analysis.options import Options, operands, option_values
from toolgate.command.analysis.program import UNKNOWN, AskRule, Program, program
from toolgate.command.analysis.readers.interpreters import interpret, split_module
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.wrapped_command import analyse_code_words, unwrap
from toolgate.command.words import UNRESOLVED, Word

_DRY_RUN = Options(names=frozenset({"--dry-run", "-n"}))
_SHOWS = frozenset({"--version", "--help", "-V"})
SENDING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)")


def apply_facts(scope: Scope, words: Sequence[Word], facts: Program, *, subcommand: bool = False) -> None:
    """Note what the program does with these words. For a `subcommand`, such as git's, the first word is its name."""
    if facts.reader:
        find_reader(facts.reader)(scope, words)
    if facts.wraps or facts.after:
        unwrap(scope, words, facts)
    elif facts.joins:
        for code in operands(words, facts.values):
            analyse_code_words(scope, words[0].text, [code])
    elif facts.code and not facts.interprets:
        for code in option_values(words, facts.code, facts.values):
            analyse_code_words(scope, words[0].text, [code])
    if facts.commands:
        _analyse_named(scope, words, facts)
    if facts.interprets:
        words, module = split_module(words)
        interpret(scope, words, facts)
        _analyse_module(scope, module)
    if facts.writes:
        for target in option_values(words, facts.writes, facts.values):
            if target.text not in ("", "-") and not (facts.builds and _is_binary(scope, target)):
                scope.note_write(target)
    if facts.writes_operands:
        append = facts.appends_with.given(words)
        for word in operands(words, facts.values)[facts.writes_operands - 1 :]:
            if not word.raw.startswith(">("):
                scope.note_write(word, append=append)
    if facts.sends:
        _send(scope, words, facts)
    if facts.rules:
        ask(scope, words, facts, subcommand=subcommand)


@functools.cache
def find_reader(name: str) -> Callable[[Scope, Sequence[Word]], None]:
    """Return the reader function that a row names."""
    module, _, function = name.partition(".")
    found: Callable[[Scope, Sequence[Word]], None] = getattr(import_module(f"{readers.__name__}.{module}"), function)
    return found


def _analyse_named(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Analyse the programs that options name."""
    for word in option_values(words, facts.commands):
        if word.text.startswith(UNRESOLVED):
            scope.findings.add_unclear(f"what '{words[0].text}' runs is only known when it runs")
        scope.analyse_code(word.text)


def _analyse_module(scope: Scope, module: Sequence[Word]) -> None:
    """Analyse `python -m module` with the facts of rows such as `python-venv`.

    Many modules are programs as well. The rules of such a program apply to the module, too.
    """
    if not module:
        return
    facts = program(f"python-{module[0].text}")
    if facts is not UNKNOWN:
        apply_facts(scope, module, facts)
    else:
        ask(scope, module, program(module[0].text))


def _is_binary(scope: Scope, target: Word) -> bool:
    """Whether the target does not exist, or is not text."""
    paths = scope.matches(target)
    return paths is not None and not any(scope.surroundings.content(path) for path in paths)


def _send(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    method = next((value.text for value in option_values(words, facts.method, facts.values)), "")
    if facts.sends.given(words) or method.upper() in SENDING_METHODS:
        urls = [word.text for word in operands(words) if "://" in word.text or LOCAL.match(word.text)]
        if not urls or not all(LOCAL.match(url) for url in urls):
            scope.findings.add_danger(f"'{words[0].text}': it sends data to another machine")


def ask(
    scope: Scope, words: Sequence[Word], facts: Program, *, subcommand: bool = False, only_verbs: bool = False
) -> None:
    """Note the rules that apply."""
    name = words[0].text
    for rule in facts.rules:
        if (only_verbs and not rule.verbs) or not _applies(scope, rule, words, facts, subcommand):
            continue
        if rule.unclear:
            scope.findings.add_unclear(rule.reason.replace("{name}", name))
        else:
            scope.findings.add_danger(rule.reason if subcommand else f"'{name}': {rule.reason}")


def _applies(scope: Scope, rule: AskRule, words: Sequence[Word], facts: Program, subcommand: bool) -> bool:
    if rule.unless and rule.unless.given(words, only_letters=subcommand):
        return False
    if rule.alongside and rule.alongside.isdisjoint(word.text for word in words):
        return False
    if rule.always:
        return subcommand or not _only_shows(words, facts)
    return (
        rule.options.given(words, only_letters=subcommand)
        or _has_verb(rule, words, subcommand)
        or (rule.operands > 0 and len(operands(words)) >= rule.operands)
        or (rule.unknown and any(not word.known and word.text.startswith(UNRESOLVED) for word in words[2:]))
        or (rule.unknown and scope.repeated and len(words) == 2 and not words[1].known)
    )


def _has_verb(rule: AskRule, words: Sequence[Word], subcommand: bool) -> bool:
    """Whether a verb is the first word of a subcommand, or among the first three of a program."""
    if not rule.verbs:
        return False
    given = [word.text for word in operands(words)]
    if subcommand:
        return not rule.verbs.isdisjoint(given[:1])
    return not rule.verbs.isdisjoint(given[:3]) and not _DRY_RUN.given(words)


def _only_shows(words: Sequence[Word], facts: Program) -> bool:
    if len(words) == 1:
        return "(nothing)" in facts.shows
    return words[1].text in facts.shows or (len(words) == 2 and words[1].text in _SHOWS)
