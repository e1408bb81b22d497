"""The known checkers: the files that they check, and their command lines."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from toolgate.diagnostics.problems import Read, read_lines, read_pyright, read_rust_analyzer
from toolgate.process.executables import find_program

_PYTHON = (".py", ".pyi")
_TYPESCRIPT = (".ts", ".tsx", ".mts", ".cts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program that finds problems in files."""

    name: str
    endings: tuple[str, ...]
    arguments: str
    """What follows the program's name; `{file}` is the file and `{directory}` its directory, relative to the root."""
    read: Read = read_lines
    program: str = ""
    """Its name on PATH, if that is another one."""


CHECKERS = (
    Checker(
        name="ruff",
        endings=_PYTHON,
        arguments="check --quiet --no-cache --no-fix --output-format=concise -- {file}",
    ),
    Checker(name="pyright", endings=_PYTHON, arguments="--outputjson {file}", read=read_pyright),
    Checker(name="tsc", endings=_TYPESCRIPT, arguments="--noEmit --pretty false --incremental false"),
    Checker(name="gopls", endings=(".go",), arguments="check {file}"),
    Checker(name="rust-analyzer", endings=(".rs",), arguments="diagnostics .", read=read_rust_analyzer),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCommand:
    """A command that checks one file."""

    checker: str
    command: str
    read: Read


def checks_for(
    path: str,
    *,
    chosen: Collection[str],
    own: str | None,
    writable: tuple[str, ...],
    find: Callable[[str, tuple[str, ...]], str | None] = find_program,
) -> Iterator[CheckCommand]:
    """The commands that check a file (relative to the root).

    Programs are looked up on PATH, and never in a directory that commands can write. `own` is the user's command.
    """
    file = shlex.quote(f"./{path}")
    if own:
        yield CheckCommand(checker="command", command=own.replace("{file}", file), read=read_lines)
    for checker in CHECKERS:
        if not path.endswith(checker.endings) or not ({"auto", checker.name} & set(chosen)):
            continue
        program = find(checker.program or checker.name, writable)
        if program is not None:
            directory = shlex.quote(f"./{posixpath.dirname(path)}")
            arguments = checker.arguments.replace("{file}", file).replace("{directory}", directory)
            yield CheckCommand(checker=checker.name, command=f"{shlex.quote(program)} {arguments}", read=checker.read)
