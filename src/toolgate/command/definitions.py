"""Definitions of shell functions as bash prints them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from toolgate.command.syntax import AndOr, Compound, Grammar, UnparsableError

_HEAD = re.compile(r"^([^\s()$`'\"\\]+) \(\) *$", re.MULTILINE)


@functools.lru_cache(maxsize=16)
def definitions(source: str) -> Mapping[str, str]:
    """Split function definitions by name.

    A line inside a function may look like the next definition. The parts then do not parse, so a person is asked.
    """
    found: dict[str, str] = {}
    for name, text in _split(source):
        found[name] = found.get(name, "") + text
    return found


def has_only_definitions(source: str) -> bool:
    """Whether this code defines the functions that `definitions` finds, and does nothing else.

    False if it cannot be understood. A command can hand over any code as its functions. The same function in another
    notation would run without being found.
    """
    parts = _split(source)
    return (
        "".join(text for _, text in parts) == source
        and _defined(source) == [name for name, _ in parts]
        and all(_defined(text) == [name] for name, text in parts)
    )


def _split(source: str) -> list[tuple[str, str]]:
    heads = list(_HEAD.finditer(source))
    ends = [*(head.start() for head in heads[1:]), len(source)]
    return [(head[1], source[head.start() : end]) for head, end in zip(heads, ends, strict=True)] if heads else []


def _defined(code: str) -> list[str] | None:
    """Return the names of the functions that code defines; None if it does anything else or cannot be understood."""
    try:
        statements = Grammar(code).nested(frozenset()).statements
    except UnparsableError:
        return None
    names = [function.name for function in map(_function, statements) if function is not None]
    return names if len(names) == len(statements) else None


def _function(statement: AndOr) -> Compound | None:
    commands = [command for pipeline in statement.pipelines for command in pipeline.commands]
    if len(commands) != 1 or statement.pipelines[0].timed:
        return None
    (command,) = commands
    return command if isinstance(command, Compound) and command.kind == "function" else None
