"""Analyses one simple command: which program it runs, what the table says about it, and which paths its words name."""

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


def analyse_simple(scope: Scope, words: Sequence[Word]) -> None:
    """Analyse one simple command."""
    findings, head = scope.findings, words[0]
    if not head.known:
        findings.commands[tuple(word.text for word in words)] = None
        findings.add_unclear(f"the command word '{head.raw or head.text}' is only known when it runs")
        return
    system = _SYSTEM.fullmatch(head.text) if "/" in head.text else None
    if system:
        words = [head._replace(text=system.group(1)), *words[1:]]
    elif "/" in head.text:
        _analyse_file(scope, words)
        return
    facts = program(words[0].text)
    if facts.keyword and not head.quoted:
        findings.add_unclear(f"'{head.text}' stands where a command is expected")
    if system or not _redefined(scope, words, facts):
        _analyse_known(scope, words, facts)


def _analyse_known(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    if facts.long:
        words = _spelled_out(words, facts.long)
    note_dependencies(scope, words, facts)
    note_hidden_options(scope, words, facts)
    if facts.reader != "git.git":
        scope.findings.commands[tuple([word.text for word in words])] = None
    apply_facts(scope, words, facts)
    if facts.suspect:
        suspect(scope, words)
        writes_of_unknown(scope, words)
    if not (facts.no_paths or facts.own_paths):
        _note_paths(scope, words, facts)


def _analyse_file(scope: Scope, words: Sequence[Word]) -> None:
    """Analyse a program that is named by its path: the project's own, or one from outside the root."""
    findings = scope.findings
    findings.commands[tuple(word.text for word in words)] = None
    named = [words[0]._replace(text=posixpath.basename(words[0].text)), *words[1:]]
    facts = program(named[0].text)
    if facts.well_known or any(rule.always for rule in facts.rules):
        findings.commands[tuple(word.text for word in named)] = None
    scope.note_script(words[0])
    note_dependencies(scope, words, facts)
    ask(scope, named, facts, only_verbs=True)
    if facts.wraps or facts.shell or facts.interprets:
        scope.analyse_command(named)
        return
    if facts.suspect:
        suspect(scope, words)
    _note_paths(scope, words, UNKNOWN)


def _spelled_out(words: Sequence[Word], options: Sequence[str]) -> Sequence[Word]:
    """Return the words with long options in full: GNU programs and git accept every unambiguous abbreviation."""
    return [_full_name(word, options) if word.text.startswith("--") else word for word in words]


def _full_name(word: Word, options: Sequence[str]) -> Word:
    name, equals, value = word.text.partition("=")
    if name == "--" or name in options:
        return word
    return next((word._replace(text=option + equals + value) for option in options if option.startswith(name)), word)


def _redefined(scope: Scope, words: Sequence[Word], facts: Program) -> bool:
    """Whether the shell's state redefines the word. Then the definition is analysed in its place."""
    name, surroundings, findings = words[0].text, scope.surroundings, scope.findings
    is_alias = name in surroundings.aliases and not words[0].quoted
    if scope.stdin is not None and name in scope.functions and name not in scope.expanding:
        _feed(scope, name)
    if name not in scope.expanding and (is_alias or name in surroundings.functions):
        before, scope.expanding = scope.expanding, scope.expanding | {name}
        if is_alias:
            findings.definitions[name] = surroundings.aliases[name]
            rest = " ".join(word.raw or word.text for word in words[1:])
            scope.analyse_code(f"{surroundings.aliases[name]} {rest}", here=True)
        else:
            findings.definitions[name] = surroundings.functions[name]
            findings.commands[tuple(word.text for word in words)] = None
            scope.analyse_code(surroundings.functions[name], here=True)
        scope.expanding = before
        return True
    if name not in scope.expanding or not (name in surroundings.aliases or name in surroundings.functions):
        _shadowed(scope, words, facts)
    return False


def _feed(scope: Scope, name: str) -> None:
    """Analyse a function that the command line defines and gives input to: a shell in it may run that input."""
    before, scope.expanding = scope.expanding, scope.expanding | {name}
    for body in scope.functions[name]:
        scope.analyse_statements(body)
    scope.expanding = before


def _shadowed(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Note a program of the project that `PATH` finds first."""
    name, findings = words[0].text, scope.findings
    file = scope.surroundings.shadows(name)
    if file is not None:
        findings.scripts[file] = None
        findings.commands[(f"./{file}", *(word.text for word in words[1:]))] = None
        if facts.well_known:
            findings.add_danger(f"'{name}' is '{file}' here, because 'PATH' finds that first")
    elif scope.path_changed and facts.well_known and not facts.no_paths:
        findings.add_danger(f"'PATH' is changed before '{name}', which may then be another program", sure=False)


def _note_paths(scope: Scope, words: Sequence[Word], facts: Program) -> None:
    """Note every word that is a path outside the root."""
    if not any("/" in word.text or "~" in word.text or ".." in word.text for word in words):
        return
    name = words[0].text
    pattern = facts.pattern and not any(word.text in _PATTERN_OPTIONS for word in words)
    skip, texts = False, program("(any)").texts
    reads = facts.reads_operands or (facts.reads and not edits_in_place(words))
    last_source = len(words) if name == "cp" and target_directory(words) else len(words) - 1
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if skip:
            skip = False
            continue
        if facts.wraps and word.known and program(text).pattern:
            break  # the wrapped command is analysed separately
        if text.startswith("-"):
            skip = text in texts or text in facts.texts
            if text.partition("=")[0] in _PATTERNS:
                continue
            text = _option_value(text, only_text=reads or facts.pattern)
        elif pattern:
            pattern = False
            continue
        for piece in _pieces(text):
            if piece.startswith(("/", "~")) or ".." in piece.split("/"):
                scope.note_path(piece, reads=reads or (name == "cp" and at < last_source))


def _option_value(text: str, *, only_text: bool) -> str:
    """Return the value of an option after `=`, or after its letter unless that is `only_text`; empty if neither."""
    _, equals, value = text.partition("=")
    if equals:
        return value
    attached = None if only_text else _ATTACHED_PATH.fullmatch(text)
    return attached.group(1) if attached else ""


def _pieces(text: str) -> list[str]:
    """Return what may be a path: the text, the part after its first `=`, and the options of a brace expansion."""
    pieces = [text]
    if "=" in text and "://" not in text:
        pieces.append(text.partition("=")[2])
    if "{" in text and "," in text:
        pieces.extend(re.split(r"[{},]", text))
    return pieces
