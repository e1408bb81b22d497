"""The dump that a shell writes when it ends: the code that writes it, and a reader that does not trust it."""

from __future__ import annotations

import re
from types import MappingProxyType

from toolgate.shell.quoting import SCALAR, decode
from toolgate.shell.state import ShellState, Variable

_SEPARATOR = r"\builtin printf '\0'"
CODE = f"; {_SEPARATOR}; ".join(
    [
        r"\unset -f builtin; \builtin printf %s " + '"${POSIXLY_CORRECT#*:}"',
        r"\builtin pwd || \builtin printf '%s\n' " + '"${PWD-}"',  # a deleted directory has only its name
        r"\builtin printf %s " + '"${OLDPWD-}"',
        r"\builtin dirs -l -p",
        r"\builtin umask -p",
        r"\builtin declare -p",
        r"\builtin declare -f",
        r"\builtin declare -Fx",
        r"\builtin alias -p",
        r"\builtin shopt -p",
        r"\builtin set +o",
        r"\builtin jobs -pr",
        r"\builtin printf end",
    ]
)
"""The code with which a shell dumps its state.

It uses only builtins, so that no process is started. They are escaped and called so that neither aliases nor functions
replace them.
"""
_PARTS = 13

_ELEMENT = rb"\[(?:" + SCALAR + rb"|[^\]\s\"'$`\\()\[]++)\]=" + SCALAR
_VARIABLE = re.compile(
    rb"declare -([-aAilnrtux]++) ([A-Za-z_][A-Za-z0-9_]*+)(?:=(" + SCALAR + rb"|\((?:" + _ELEMENT + rb" ?)*+\)))?\n",
    re.DOTALL,
)
_INDEXED = re.compile(rb"\((?:\[[0-9]+\]=" + SCALAR + rb" ?)*+\)", re.DOTALL)
_INTEGER = re.compile(rb'"-?[0-9]*"')
_ALIAS = re.compile(rb"alias (?:-- )?([^\s='\"$`\\;&|()<>]++)=((?:'[^']*+'|\\')++)\n")
_EXPORTED_FUNCTION = re.compile(rb"declare -[a-z]*x[a-z]* ([^\s'\"$`\\;&|()<>]+)\n")
_SHOPT = re.compile(rb"shopt -[su] ([a-z0-9_]+)\n")
_OPTION = re.compile(rb"set [-+]o ([a-z0-9]+(?:-[a-z]+)?)\n")
_OWN = re.compile(
    rb"BASH(?!_ENV$|_COMPAT$).*|COMP_.*|READLINE_.*|EPOCH.*|_|PPID|E?UID|SHELLOPTS|PIPESTATUS|S?RANDOM|SECONDS|LINENO"
    rb"|FUNCNAME|POSIXLY_CORRECT|GROUPS|DIRSTACK|HIST.*|SHLVL|PWD|OLDPWD|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|OPTERR"
)
"""Variables that bash sets itself, and history, which these shells do not have."""


class BadDump(ValueError):
    """A state that cannot be kept: incomplete, too large, or not what `CODE` writes."""


def parse(dump: bytes) -> ShellState:
    """Parse a dump. Every part except the functions is checked to be inert data. Raises `BadDump`."""
    parts = dump.split(b"\0")
    if len(parts) != _PARTS or parts[-1] != b"end":
        raise BadDump("it is incomplete")
    started, directory, previous, stack, umask, variables, functions, exported, aliases, shopts, options, _, _ = parts
    if not directory.startswith(b"/") or not directory.endswith(b"\n"):
        raise BadDump("the directory cannot be read")
    on = frozenset(started.split(b":"))  # as before the dump, which needs POSIX mode; that sets some options
    mask = re.fullmatch(rb"umask ([0-7]{3,4})\n", umask)
    if mask is None:
        raise BadDump("the umask cannot be read")
    return ShellState(
        directory=directory[:-1],
        previous=previous,
        stack=tuple(stack.split(b"\n")[1:-1]),
        variables=MappingProxyType(_variables(variables)),
        functions=functions,
        exported_functions=tuple(m[1] for m in _all(_EXPORTED_FUNCTION, exported, "exported functions")),
        aliases=MappingProxyType({m[1]: m[2] for m in _all(_ALIAS, aliases, "aliases")}),
        shopts=MappingProxyType({m[1]: m[1] in on for m in _all(_SHOPT, shopts, "shopt")}),
        options=MappingProxyType({m[1]: m[1] in on for m in _all(_OPTION, options, "options")}),
        umask=mask[1],
    )


def left_running(dump: bytes) -> int:
    """How many processes the shell had started with `&` that still ran when it ended."""
    parts = dump.split(b"\0")
    return len(parts[-2].split()) if len(parts) == _PARTS else 0


def _all(pattern: re.Pattern[bytes], text: bytes, what: str) -> list[re.Match[bytes]]:
    """Return matches that cover the text without a gap."""
    found, position = [], 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise BadDump(f"the {what} cannot be read")
        found.append(match)
        position = match.end()
    return found


def _variables(text: bytes) -> dict[bytes, Variable]:
    found: dict[bytes, Variable] = {}
    for match in _all(_VARIABLE, text, "variables"):
        flags, name, literal = match[1].decode(), match[2], match[3]
        if _OWN.fullmatch(name):
            continue
        if literal is not None and not _inert(flags, literal):
            raise BadDump("a variable would run code when it is set again")
        found[name] = Variable(flags, literal)
    return found


def _inert(flags: str, literal: bytes) -> bool:
    """Whether assigning the literal evaluates nothing. Subscripts and integers are arithmetic, which can run code."""
    array = literal.startswith(b"(")
    if array and "A" not in flags and not _INDEXED.fullmatch(literal):
        return False
    if "i" in flags:
        values = re.findall(SCALAR, literal, re.DOTALL) if array and "A" not in flags else [literal]
        return "A" not in flags and all(_INTEGER.fullmatch(value) for value in values)
    if "n" in flags:
        return not array and re.fullmatch(rb"[A-Za-z_][A-Za-z0-9_]*", decode(literal)) is not None
    return True
