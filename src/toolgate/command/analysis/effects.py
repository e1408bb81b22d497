"""What the facts of the table say about one command: what it runs, writes, sends, and why it is asked about."""

import functools
import re
from collections.abc import Callable, Sequence
from importlib import import_module

from toolgate.command.analysis import readers
from toolgate.command.analysis.options import Options, operands, option_values
from toolgate.command.analysis.program import UNKNOWN, AskRule, Program, program
from toolgate.command.analysis.readers.interpreters import interpret, split_module
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.wrapped_command import run_code, unwrap
from toolgate.command.words import UNRESOLVED, Word

_DRY_RUN = Options(names=frozenset({"--dry-run", "-n"}))
_SHOWS = frozenset({"--version", "--help", "-V"})
SENDING_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)")


def apply_facts(scope: Scope, words: Sequence[Word], known: Program, *, subcommand: bool = False) -> None:
    """Note what the program does with these words; of a `subcommand`, such as git's, the first word is its name."""
    if known.reader:
        find_reader(known.reader)(scope, words)
    if known.wraps or known.after:
        unwrap(scope, words, known)
    elif known.joins:
        for code in operands(words, known.values):
            run_code(scope, words[0].text, [code])
    elif known.code and not known.interprets:
        for code in option_values(words, known.code, known.values):
            run_code(scope, words[0].text, [code])
    if known.commands:
        _run_named(scope, words, known)
    if known.interprets:
        words, module = split_module(words)
        interpret(scope, words, known)
        _run_module(scope, module)
    if known.writes:
        for target in option_values(words, known.writes, known.values):
            if target.text not in ("", "-") and not (known.builds and _is_binary(scope, target)):
                scope.write(target)
    if known.writes_operands:
        append = known.appends_with.given(words)
        for word in operands(words, known.values)[known.writes_operands - 1 :]:
            if not word.raw.startswith(">("):
                scope.write(word, append=append)
    if known.sends:
        _send(scope, words, known)
    if known.rules:
        ask(scope, words, known, subcommand=subcommand)


@functools.cache
def find_reader(name: str) -> Callable[[Scope, Sequence[Word]], None]:
    """The function that a row names."""
    module, _, function = name.partition(".")
    found: Callable[[Scope, Sequence[Word]], None] = getattr(import_module(f"{readers.__name__}.{module}"), function)
    return found


def _run_named(scope: Scope, words: Sequence[Word], known: Program) -> None:
    """Programs that options name."""
    for word in option_values(words, known.commands):
        if word.text.startswith(UNRESOLVED):
            scope.found.unclear(f"what '{words[0].text}' runs is only known when it runs")
        scope.code(word.text)


def _run_module(scope: Scope, module: Sequence[Word]) -> None:
    """`python -m module`: what is known about the module, from rows such as `python-venv`.

    Many modules are programs as well. What such a program is asked about is asked about the module, too.
    """
    if not module:
        return
    known = program(f"python-{module[0].text}")
    if known is not UNKNOWN:
        apply_facts(scope, module, known)
    else:
        ask(scope, module, program(module[0].text))


def _is_binary(scope: Scope, target: Word) -> bool:
    """Whether there is nothing at the target, or no text."""
    paths = scope.matches(target)
    return paths is not None and not any(scope.around.content(path) for path in paths)


def _send(scope: Scope, words: Sequence[Word], known: Program) -> None:
    method = next((value.text for value in option_values(words, known.method, known.values)), "")
    if known.sends.given(words) or method.upper() in SENDING_METHODS:
        urls = [word.text for word in operands(words) if "://" in word.text or LOCAL.match(word.text)]
        if not urls or not all(LOCAL.match(url) for url in urls):
            scope.found.danger(f"'{words[0].text}': it sends data to another machine")


def ask(
    scope: Scope, words: Sequence[Word], known: Program, *, subcommand: bool = False, only_verbs: bool = False
) -> None:
    """Note the rules that apply."""
    name = words[0].text
    for rule in known.rules:
        if (only_verbs and not rule.verbs) or not _applies(scope, rule, words, known, subcommand):
            continue
        if rule.unclear:
            scope.found.unclear(rule.reason.replace("{name}", name))
        else:
            scope.found.danger(rule.reason if subcommand else f"'{name}': {rule.reason}")


def _applies(scope: Scope, rule: AskRule, words: Sequence[Word], known: Program, subcommand: bool) -> bool:
    if rule.unless and rule.unless.given(words, only_letters=subcommand):
        return False
    if rule.alongside and rule.alongside.isdisjoint(word.text for word in words):
        return False
    if rule.always:
        return subcommand or not _only_shows(words, known)
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


def _only_shows(words: Sequence[Word], known: Program) -> bool:
    if len(words) == 1:
        return "(nothing)" in known.shows
    return words[1].text in known.shows or (len(words) == 2 and words[1].text in _SHOWS)
