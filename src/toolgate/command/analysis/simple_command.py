"""One simple command: which program it is, what is known about that, and what its words name."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.dependencies import note_dependencies
from toolgate.command.analysis.effects import apply_facts, ask
from toolgate.command.analysis.hidden_options import note_hidden_options
from toolgate.command.analysis.program import UNKNOWN, Program, program
from toolgate.command.analysis.readers.files import target_directory
from toolgate.command.analysis.readers.sed import edits_in_place
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.unknown_programs import suspect, writes_of_unknown
from toolgate.command.words import Word

_SYSTEM = re.compile(r"/(?:usr/(?:local/)?)?s?bin/([^/]+)")
_ATTACHED_PATH = re.compile(r"-(?![IL]/)[A-Za-z]+([/~].+|\.\./.*)")
"""`-C/path`; `-I/path` and `-L/path` name what a compiler reads."""
_PATTERNS = frozenset({"--exclude", "--exclude-dir"})
"""Options whose value excludes files and is never opened, also after `=`."""
_PATTERN_OPTIONS = frozenset({"-e", "-f", "--regexp", "--file", "--expression"})
"""With one of these options the first operand is not a pattern."""


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
        _run_file(scope, words)
        return
    known = program(words[0].text)
    if known.keyword and not head.quoted:
        found.unclear(f"'{head.text}' stands where a command is expected")
    if system or not _redefined(scope, words, known):
        _run_known(scope, words, known)


def _run_known(scope: Scope, words: Sequence[Word], known: Program) -> None:
    if known.long:
        words = _spelled_out(words, known.long)
    note_dependencies(scope, words, known)
    note_hidden_options(scope, words, known)
    if known.reader != "git.git":
        scope.found.commands[tuple([word.text for word in words])] = None
    apply_facts(scope, words, known)
    if known.suspect:
        suspect(scope, words)
        writes_of_unknown(scope, words)
    if not (known.no_paths or known.own_paths):
        _note_paths(scope, words, known)


def _run_file(scope: Scope, words: Sequence[Word]) -> None:
    """A program that is named by its path: the project's own, or one from outside the root."""
    found = scope.found
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
    _note_paths(scope, words, UNKNOWN)


def _spelled_out(words: Sequence[Word], options: Sequence[str]) -> Sequence[Word]:
    """The words with long options in full: GNU programs and git take any beginning that is unambiguous."""
    return [_full_name(word, options) if word.text.startswith("--") else word for word in words]


def _full_name(word: Word, options: Sequence[str]) -> Word:
    name, equals, value = word.text.partition("=")
    if name == "--" or name in options:
        return word
    return next((word._replace(text=option + equals + value) for option in options if option.startswith(name)), word)


def _redefined(scope: Scope, words: Sequence[Word], known: Program) -> bool:
    """Whether the shell's state gives the word another meaning; it then counts as what it may run."""
    name, around, found = words[0].text, scope.around, scope.found
    is_alias = name in around.aliases and not words[0].quoted
    if scope.stdin is not None and name in scope.functions and name not in scope.expanding:
        _feed(scope, name)
    if name not in scope.expanding and (is_alias or name in around.functions):
        before, scope.expanding = scope.expanding, scope.expanding | {name}
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


def _feed(scope: Scope, name: str) -> None:
    """A function of the command line itself that is given something to read: what it runs may read that as code."""
    before, scope.expanding = scope.expanding, scope.expanding | {name}
    for body in scope.functions[name]:
        scope.statements(body)
    scope.expanding = before


def _shadowed(scope: Scope, words: Sequence[Word], known: Program) -> None:
    """A program of the project that `PATH` finds first counts as well."""
    name, found = words[0].text, scope.found
    file = scope.around.shadows(name)
    if file is not None:
        found.scripts[file] = None
        found.commands[(f"./{file}", *(word.text for word in words[1:]))] = None
        if known.well_known:
            found.danger(f"'{name}' is '{file}' here, because 'PATH' finds that first")
    elif scope.path_changed and known.well_known and not known.no_paths:
        found.danger(f"'PATH' is changed before '{name}', which may then be another program", sure=False)


def _note_paths(scope: Scope, words: Sequence[Word], known: Program) -> None:
    """Note every word that is a path outside the root."""
    if not any("/" in word.text or "~" in word.text or ".." in word.text for word in words):
        return
    name = words[0].text
    pattern = known.pattern and not any(word.text in _PATTERN_OPTIONS for word in words)
    skip, texts = False, program("(any)").texts
    reads = known.reads_operands or (known.reads and not edits_in_place(words))
    last_source = len(words) if name == "cp" and target_directory(words) else len(words) - 1
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if skip:
            skip = False
            continue
        if known.wraps and word.known and program(text).pattern:
            break  # the command that it wraps is looked at by itself
        if text.startswith("-"):
            skip = text in texts or text in known.texts
            if text.partition("=")[0] in _PATTERNS:
                continue
            text = _option_value(text, only_text=reads or known.pattern)
        elif pattern:
            pattern = False
            continue
        for piece in _pieces(text):
            if piece.startswith(("/", "~")) or ".." in piece.split("/"):
                scope.path(piece, reads=reads or (name == "cp" and at < last_source))


def _option_value(text: str, *, only_text: bool) -> str:
    """What an option names after `=`, or after its letter unless that is `only_text`; empty if neither."""
    _, equals, value = text.partition("=")
    if equals:
        return value
    attached = None if only_text else _ATTACHED_PATH.fullmatch(text)
    return attached.group(1) if attached else ""


def _pieces(text: str) -> list[str]:
    """The text as a path, what stands after its first `=`, and the alternatives of a brace expansion."""
    pieces = [text]
    if "=" in text and "://" not in text:
        pieces.append(text.partition("=")[2])
    if "{" in text and "," in text:
        pieces.extend(re.split(r"[{},]", text))
    return pieces
