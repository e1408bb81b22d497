"""Walks over the syntax tree and analyses every simple command in it."""

import re
from collections.abc import Iterable

from toolgate.command.analysis.expansion import is_code, resolve, resolve_parts
from toolgate.command.analysis.readers.interpreters import analyse_stdin
from toolgate.command.analysis.scope import PIPE, Scope, Stdin
from toolgate.command.analysis.variables import assign
from toolgate.command.syntax import Grammar, UnparsableError
from toolgate.command.syntax.tree import AndOr, Assign, Compound, Pipeline, Redirect, Sequence, Simple
from toolgate.command.words import UNRESOLVED, Word, heredoc_value

_PIECES = re.compile(r"[;&|(){}\n`]+|\$\(|[<>]\(")
_QUOTES = re.compile(r"\\\n|['\"\\]")
_MAX_PIECES = 3000
_PREFIXES = frozenset({"builtin", "command", "exec"})
"""`exec` alone, also after these, redirects what follows."""
_DUPLICATES = frozenset({">&", "<&"})


def walk(scope: Scope, text: str) -> None:
    """Find everything that `text` runs."""
    if not scope.count_characters(len(text)):
        return
    try:
        code = Grammar(text, scope.depth).program()
    except UnparsableError as error:
        scope.note_skipped(f"it cannot be followed as bash: {error}")
        _pieces(scope, text)
        return
    walk_sequence(scope, code)


def _pieces(scope: Scope, text: str) -> None:
    """Analyse whatever looks like a command in code that cannot be parsed, so that rules that deny still apply."""
    for piece in _PIECES.split(text, _MAX_PIECES)[:_MAX_PIECES]:
        scope.analyse_command([Word(word) for word in _QUOTES.sub("", piece).split()])


def walk_sequence(scope: Scope, code: Sequence) -> None:
    """Walk over statements, one after the other."""
    for statement in code.statements:
        _and_or(scope, statement)
        scope.settle()


def _and_or(scope: Scope, statement: AndOr) -> None:
    """Walk over `a && b || c`. What follows `||` also runs if a `cd` failed."""
    _pipeline(scope, statement.pipelines[0])
    for operator, pipeline in zip(statement.operators, statement.pipelines[1:], strict=True):
        if operator == "||":
            scope.settle()
        _pipeline(scope, pipeline)


def _pipeline(scope: Scope, pipeline: Pipeline) -> None:
    """Walk over a pipeline. Each command has a shell of its own, and all but the first read from the previous one."""
    if pipeline.timed:
        scope.findings.commands[("time",)] = None
    if len(pipeline.commands) == 1:
        _command(scope, pipeline.commands[0])
        return
    for number, command in enumerate(pipeline.commands):
        outside = scope.save()
        if number:
            scope.stdin = PIPE
        _command(scope, command)
        scope.restore(outside)


def _command(scope: Scope, command: Simple | Compound) -> None:
    if not scope.count_step():
        return
    if isinstance(command, Simple):
        _simple(scope, command)
    elif scope.descend():
        before = scope.stdin
        scope.stdin = _redirects(scope, command.redirects) or before
        _compound(scope, command)
        if command.redirects:
            scope.stdin = before
        scope.depth -= 1


def _compound(scope: Scope, compound: Compound) -> None:
    outside = scope.save()
    scope.findings.evaluates |= compound.kind == "expression"
    resolve_parts(scope, compound.parts)
    for lexeme in compound.words:
        resolve(scope, lexeme)
    if compound.variable:
        assign(scope, compound.variable, Word(UNRESOLVED, False), None)
    if compound.name:
        scope.functions[compound.name] = compound.bodies
    before, repeated = scope.cwds, scope.repeated
    scope.repeated = repeated or compound.loops
    for body in compound.bodies:
        walk_sequence(scope, body)
    scope.repeated = repeated
    if compound.kind in ("subshell", "function"):
        scope.restore(outside)
    elif compound.kind == "branches":
        scope.join(before)


def _simple(scope: Scope, command: Simple) -> None:
    words = [
        Word(lexeme.raw, True, False, lexeme.raw) if lexeme.parts is None else resolve(scope, lexeme)
        for lexeme in command.words
    ]
    for position, assigned in command.declared.items():
        value = _assigned(scope, assigned, words)
        words[position] = Word(f"{assigned.name}={value.text}", value.known, True, assigned.raw)
    for assigned in command.assigns:
        _assigned(scope, assigned, words if words else None)
    if not command.redirects:
        scope.analyse_command(words)
        return
    before = scope.stdin
    scope.stdin = _redirects(scope, command.redirects) or before
    scope.analyse_command(words)
    if not words or words[-1].text != "exec" or not all(word.text in _PREFIXES for word in words):
        scope.stdin = before
    elif scope.code_from_stdin and scope.stdin is not before:
        analyse_stdin(scope, "bash", scope.analyse_code)


def _assigned(scope: Scope, assigned: Assign, words: list[Word] | None) -> Word:
    values = [resolve(scope, lexeme) for lexeme in assigned.value]
    scope.findings.evaluates |= not assigned.known
    value = values[0] if assigned.known else Word(UNRESOLVED, False, True)
    assign(scope, assigned.name, value._replace(raw=assigned.raw.partition("=")[2]), words)
    return value


def _redirects(scope: Scope, redirects: Iterable[Redirect]) -> Stdin | None:
    """Note the files that redirections write, and return the standard input that they open."""
    stdin: Stdin | None = None
    for redirect in redirects:
        if not redirect.operator:
            continue
        if redirect.heredoc is not None:
            body = redirect.heredoc.body or ""
            scope.findings.heredocs += len(body)
            resolve_parts(scope, redirect.heredoc.parts)
            scope.findings.holds_code |= redirect.heredoc.quoted and ("$(" in body or "`" in body)
            scope.findings.holds_code |= any(map(is_code, redirect.heredoc.parts))
            read: Stdin | None = Stdin("text", heredoc_value(body, redirect.heredoc.quoted))
        else:
            read = _opened(scope, redirect)
        if redirect.is_stdin:
            stdin = read or stdin
    return stdin


def _opened(scope: Scope, redirect: Redirect) -> Stdin | None:
    operator, target = redirect.operator, resolve(scope, redirect.target)
    if operator == "<<<":
        return Stdin("text", target)
    if redirect.target.raw.startswith(("<(", ">(")):
        return PIPE if operator == "<" else None
    if "&" in operator and ("$" in target.text or "`" in target.text):
        scope.findings.add_unclear(f"bash expands '{redirect.target.raw}' after '{operator}' a second time")
    if operator in _DUPLICATES and (target.text.removesuffix("-").isdigit() or target.text == "-"):
        return PIPE if operator == "<&" and target.text not in ("0", "0-", "-") else None
    if operator in ("<", "<&"):
        scope.note_path(target.text, reads=True)
        scope.note_input(target)
        return Stdin("file", target)
    scope.note_write(target, append=operator in (">>", "&>>"))
    return None
