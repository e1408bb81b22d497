"""Builtins of the shell: directories, and words that bash takes for names or evaluates."""

import posixpath
import re
from collections.abc import Sequence

from toolgate.command.analysis.options import attached_value, operands
from toolgate.command.analysis.paths import Zone
from toolgate.command.analysis.program import program
from toolgate.command.analysis.scope import Scope
from toolgate.command.analysis.variables import assign
from toolgate.command.words import UNRESOLVED, Word

_HIDDEN = re.compile(r"`|\$\(|\$\{|[<>]\(")
_UNARY = re.compile(r"-[b-hknprstuwxzGLNOS]")
_BINARY = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"})
_KEYWORD = re.compile(r"-[a-zA-Z]*k[a-zA-Z]*")
_LISTS = re.compile(r"-[abcdefgjksuv]+|-A|-[PSXG]")


def change_directory(scope: Scope, words: Sequence[Word]) -> None:
    """`cd`, `pushd` and `popd`: where the rest of the line runs."""
    if words[0].text == "popd":
        scope.enter((None, scope.surroundings.cwd), certain=True)
        return
    given = operands(words)
    if given and given[0].text == "-":
        scope.enter((None,), certain=True)
        return
    text = given[0].text if given else "~"
    location = scope.note_path(text)
    if location.zone is Zone.inside:
        certain = all(scope.surroundings.kind(path) == "directory" or path in scope.created for path in location.paths)
        scope.enter(location.paths, certain)
    elif location.zone is Zone.scratch:
        scope.enter((text,), certain=False)
    elif location.zone in (Zone.outside, Zone.shown) and text.startswith("/"):
        scope.enter((posixpath.normpath(text),), certain=False)
    else:
        scope.enter((None,), certain=True)


def mkdir(scope: Scope, words: Sequence[Word]) -> None:
    """Directories that exist from here on."""
    for word in operands(words, program("mkdir").values):
        if word.known:
            scope.created.update(scope.locate(word.text).paths)


def variables(scope: Scope, words: Sequence[Word]) -> None:
    """`read`, `mapfile`, `printf -v`, `let` …: words that are variables, or even code in a subscript."""
    name = words[0].text
    scope.findings.evaluates |= name != "printf" or any(word.text.startswith("-v") for word in words)
    for at, word in enumerate(words[1:], 1):
        if name == "printf":
            if words[at - 1].text == "-v":
                _variable(scope, word)
            continue
        if _HIDDEN.search(word.text):
            scope.findings.add_unclear(f"'{name}' evaluates '{word.raw or word.text}'")
        if not word.text.startswith("-"):
            _variable(scope, word)
        elif name in ("mapfile", "readarray"):
            _call_back(scope, words, at)


def _call_back(scope: Scope, words: Sequence[Word], at: int) -> None:
    """`mapfile -C code`: what it runs for every few lines."""
    attached = attached_value(words[at].text, ("-C",), ("-c", "-d", "-n", "-O", "-s", "-u"))
    code = words[at + 1 : at + 2] if attached == "" else [words[at]._replace(text=attached or "")]
    if code and not code[0].known:
        scope.findings.add_unclear(f"what '{words[0].text}' runs is only known when it runs")
    for word in code:
        scope.analyse_code(word.text)


def _variable(scope: Scope, word: Word) -> None:
    name = re.split(r"[=\[+]", word.text, maxsplit=1)[0]
    if _HIDDEN.search(word.text):
        scope.findings.add_unclear(f"it evaluates '{word.raw or word.text}'")
    if name.isidentifier() and name.isupper():
        assign(scope, name, Word(UNRESOLVED, False), None)


def declarations(scope: Scope, words: Sequence[Word]) -> None:
    """`export`, `declare` …: values, code in a subscript, and names that stand for another variable (`declare -n`).

    Unquoted values were noted when the line was read.
    """
    scope.findings.evaluates = True
    refers = words[0].text != "export" and any(re.match(r"-[a-zA-Z]*n", word.text) for word in words[1:])
    noted = {(found.name, found.value) for found in scope.findings.assignments}
    for word in words[1:]:
        name, equals, value = word.text.partition("=")
        element, _, subscript = name.partition("[")
        if "[" in name and _HIDDEN.search(name):
            scope.findings.add_unclear(f"'{words[0].text}' evaluates '{word.raw or word.text}'")
        elif not word.known and not name.isidentifier() and not word.raw.startswith(("-", name)):
            scope.findings.add_unclear(f"'{words[0].text}' sets a variable that is only known when it runs")
        elif equals and refers:
            assign(scope, value.partition("[")[0], Word(UNRESOLVED, False), None)
        elif equals and subscript and element.isidentifier():
            assign(scope, element, Word(UNRESOLVED, False), None)
        elif equals and name.removesuffix("+").isidentifier() and (name.removesuffix("+"), value) not in noted:
            assign(scope, name.removesuffix("+"), word._replace(text=value), words)


def shell_options(scope: Scope, words: Sequence[Word]) -> None:
    """`set -k` makes any word of a command an assignment, so that no word means what it says."""
    given = [word.text for word in words[1:]]
    options = given[: given.index("--")] if "--" in given else given
    if "keyword" in options or (words[0].text == "set" and any(map(_KEYWORD.fullmatch, options))):
        scope.findings.add_unclear("'set -k' changes what words mean")


def tests(scope: Scope, words: Sequence[Word]) -> None:
    """`test` and `[`: the name after `-v` may have a subscript."""
    scope.findings.evaluates |= any(
        word.text in ("-v", "-R") or (not word.known and not _is_operand(words, at)) for at, word in enumerate(words)
    )


def _is_operand(words: Sequence[Word], at: int) -> bool:
    """Whether a quoted word of a test stands where no operator can: beside a known one."""
    if not words[at].quoted:
        return False
    before = words[at - 1].text
    after = words[at + 1].text if at + 1 < len(words) else ""
    return _UNARY.fullmatch(before) is not None or before in _BINARY or after in _BINARY


def completions(scope: Scope, words: Sequence[Word]) -> None:
    """`compgen`: some of its options run commands."""
    if any(word.text.startswith("-") and not _LISTS.fullmatch(word.text) for word in words[1:]):
        scope.findings.add_unclear("'compgen' may run a command")
