"""One simple command: which program it is, what is known about that, and what its words name."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.dependencies import note_dependencies
from toolgate.command.analysis.effects import apply_facts, ask
from toolgate.command.analysis.path_words import judge_paths
from toolgate.command.analysis.program import UNKNOWN, Program, program
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.unknown_programs import suspect, writes_of_unknown
from toolgate.command.words import Word

_SYSTEM = re.compile(r"/(?:usr/(?:local/)?)?s?bin/([^/]+)")


def run(scope: Scope, words: Sequence[Word]) -> None:
    """Look at one simple command."""
    found, head = scope.found, words[0]
    if not head.known:
        found.commands[tuple(word.text for word in words)] = None
        found.unclear(f"the command word '{head.raw or head.text}' is only known when it runs")
        return
    system = _SYSTEM.fullmatch(head.text) if "/" in head.text else None
    if system:
        words = [head._replace(text=system.group(1)), *words[1:]]
    elif "/" in head.text:
        _file(scope, words)
        return
    known = program(words[0].text)
    if known.keyword and not head.quoted:
        found.unclear(f"'{head.text}' stands where a command is expected")
    if system or not _redefined(scope, words, known):
        _known(scope, words, known)


def _known(scope: Scope, words: Sequence[Word], known: Program) -> None:
    if known.long:
        words = _spelled_out(words, known.long)
    note_dependencies(scope, words, known)
    if known.reader != "git.git":
        scope.found.commands[tuple([word.text for word in words])] = None
    if not known.reads:
        scope.found.changes = True
    apply_facts(scope, words, known)
    if known.suspect:
        suspect(scope, words)
        writes_of_unknown(scope, words)
    if not (known.no_paths or known.own_paths):
        judge_paths(scope, words, known)


def _file(scope: Scope, words: Sequence[Word]) -> None:
    """A program that is named by its path: the project's own, or one from outside the root."""
    found = scope.found
    found.changes = True
    found.commands[tuple(word.text for word in words)] = None
    named = [words[0]._replace(text=posixpath.basename(words[0].text)), *words[1:]]
    known = program(named[0].text)
    if known.well_known or any(rule.always for rule in known.rules):
        found.commands[tuple(word.text for word in named)] = None
    scope.script(words[0])
    note_dependencies(scope, words, known)
    ask(scope, named, known, only_verbs=True)
    if known.wraps or known.shell or known.interprets:
        scope.run(named)
        return
    if known.suspect:
        suspect(scope, words)
    judge_paths(scope, words, UNKNOWN)


def _spelled_out(words: Sequence[Word], options: Sequence[str]) -> Sequence[Word]:
    """The words with long options in full: GNU programs and git take any beginning that is unambiguous."""
    if not any(word.text.startswith("--") for word in words):
        return words
    return [word._replace(text=_full(word.text, options)) for word in words]


def _full(text: str, options: Sequence[str]) -> str:
    name, equals, value = text.partition("=")
    if len(name) < 3 or not name.startswith("--") or name in options:
        return text
    return next((f"{option}{equals}{value}" for option in options if option.startswith(name)), text)


def _redefined(scope: Scope, words: Sequence[Word], known: Program) -> bool:
    """Whether the shell's state gives the word another meaning; it then counts as what it may run."""
    name, around, found = words[0].text, scope.around, scope.found
    is_alias = name in around.aliases and not words[0].quoted
    if name not in scope.expanding and (is_alias or name in around.functions):
        before, scope.expanding = scope.expanding, scope.expanding | {name}
        found.changes = True
        if is_alias:
            found.definitions[name] = around.aliases[name]
            rest = " ".join(word.raw or word.text for word in words[1:])
            scope.code(f"{around.aliases[name]} {rest}", here=True)
        else:
            found.definitions[name] = around.functions[name]
            found.commands[tuple(word.text for word in words)] = None
            scope.code(around.functions[name], here=True)
        scope.expanding = before
        return True
    if name not in scope.expanding or not (name in around.aliases or name in around.functions):
        _shadowed(scope, words, known)
    return False


def _shadowed(scope: Scope, words: Sequence[Word], known: Program) -> None:
    """A program of the project that `PATH` finds first counts as well."""
    name, found = words[0].text, scope.found
    file = scope.around.shadows(name)
    if file is not None:
        found.scripts[file] = None
        found.commands[(f"./{file}", *(word.text for word in words[1:]))] = None
        found.changes = True
        if known.well_known:
            found.danger(f"'{name}' is '{file}' here, because 'PATH' finds that first")
    elif scope.path_changed and known.well_known and not known.no_paths:
        found.danger(f"'PATH' is changed before '{name}', which may then be another program", sure=False)
