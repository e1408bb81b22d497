"""Expands words as the shell would before it runs a command, as far as their values are known."""

import re
from collections.abc import Iterable

from toolgate.command.analysis.scope import PIPE, Scope
from toolgate.command.analysis.variables import assign
from toolgate.command.syntax import AndOr, Lexeme, Part, Pipeline, Sequence, Simple
from toolgate.command.words import UNRESOLVED, Word

_PWD = Sequence((AndOr((Pipeline((Simple([Lexeme("pwd")]),)),)),))
"""The code of `$(pwd)`."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def resolve(scope: Scope, lexeme: Lexeme) -> Word:
    """Return the word that the command gets, and analyse the commands that its expansion runs."""
    if lexeme.parts is None:
        return Word(lexeme.raw, True, False, lexeme.raw)
    text, bare, known, quoted = "", "", True, False
    if any(part.kind in ("expression", "assign") for part in lexeme.parts):
        scope.findings.variables.update(dict.fromkeys(_NAME.findall(lexeme.raw)))
    for part in lexeme.parts:
        value = _value(scope, part)
        known = known and part.kind in ("bare", "quoted")
        quoted = quoted or part.kind == "quoted"
        text += value
        bare += value if part.kind == "bare" else "x" * len(value)
    if "$(" in text or "`" in text:
        scope.findings.holds_code = True
    is_home = bare.startswith("~") and bare[1:2] in ("", "/")
    if is_home and scope.surroundings.home:
        text = scope.surroundings.home + text[1:]
    expands = _expands(bare)
    if expands and (any(mark in bare for mark in "*?[") or (bare.startswith("~") and not is_home)):
        scope.findings.unresolved[f"'{lexeme.raw}' stands for whatever matches it"] = None
    return Word(text, known and not expands, quoted, lexeme.raw)


def _expands(bare: str) -> bool:
    """Whether unquoted text may become other words: by a pattern, a brace expansion or a tilde."""
    if "*" in bare or "?" in bare or bare.startswith("~") or -1 < bare.find("[") < bare.rfind("]"):
        return True
    return "{" in bare and "}" in bare and ("," in bare or ".." in bare)


def resolve_parts(scope: Scope, parts: Iterable[Part]) -> None:
    """Analyse the commands that these pieces run; their values do not matter."""
    for part in parts:
        _value(scope, part)


def _value(scope: Scope, part: Part) -> str:
    if part.kind in ("bare", "quoted"):
        return part.text
    if part.kind == "variable":
        return _variable(scope, part.text)
    if part.kind == "run":
        return _analyse_substitution(scope, part)
    scope.findings.unresolved["it computes a value"] = None
    if part.kind == "assign":
        assign(scope, part.text, Word(UNRESOLVED, False), None)
    elif part.kind == "unclear":
        scope.findings.add_unclear(part.text)
    else:
        scope.findings.evaluates = True
        scope.findings.holds_code |= any(is_code(inner) for inner in part.parts)
    resolve_parts(scope, part.parts)
    return UNRESOLVED


def is_code(part: Part) -> bool:
    """Whether quoted text would run something if bash evaluated it. A `$` at its end may precede a bracket."""
    return part.kind == "quoted" and (part.text.endswith("$") or "$(" in part.text or "`" in part.text)


def _analyse_substitution(scope: Scope, part: Part) -> str:
    """Analyse a substitution, whose commands run in a shell of their own. Return its value."""
    only_pwd = part.code == _PWD
    if not only_pwd:
        scope.findings.unresolved["it uses what another command prints"] = None
    if part.code is None or not scope.descend():
        return UNRESOLVED
    outside = scope.save()
    if part.feeds:
        scope.stdin = PIPE
    scope.analyse_statements(part.code)
    scope.restore(outside)
    scope.depth -= 1
    return _variable(scope, "PWD") if only_pwd else UNRESOLVED


def _variable(scope: Scope, name: str) -> str:
    """Return the value of a variable, if the session determines it."""
    surroundings = scope.surroundings
    if name == "HOME":
        return surroundings.home or "~"
    if name == "TMPDIR":
        return surroundings.scratch[0] if surroundings.scratch else UNRESOLVED
    cwd = scope.cwds[0]
    if name == "PWD" and len(scope.cwds) == 1 and cwd is not None:
        root = surroundings.root.rstrip("/")
        if cwd.startswith("/"):
            return cwd
        return root if cwd == "." else f"{root}/{cwd}"
    scope.findings.variables[name] = None
    scope.findings.unresolved[f"'${name}' may have another value"] = None
    return UNRESOLVED
