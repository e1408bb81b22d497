"""A shell's state as data, and which parts of it a command with a higher access gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from toolgate.shell.quoting import decode, quote_scalar

_FUNCTION = re.compile(rb"^([^\s()$`'\"\\]++) \(\) *$", re.MULTILINE)
SENSITIVE = re.compile(
    r"PATH|LD_.*|BASH_ENV|ENV|IFS|GIT_.*|.*PAGER|PS4|PROMPT_COMMAND|EDITOR|VISUAL|LESSOPEN|LESSCLOSE|CDPATH|SHELL"
    r"|PYTHON.*|NODE_OPTIONS|NODE_PATH|PERL5.*|RUBYOPT|RUBYLIB|MAKEFLAGS|RUSTC.*|CARGO_.*|.*_WRAPPER|SSH_.*|DYLD_.*"
)
"""Variables that decide which code runs. The exported ones are shown first among the changed ones."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable: its attribute letters and its value in bash's notation (None: declared, never set)."""

    flags: str
    literal: bytes | None

    @property
    def exported(self) -> bool:
        """Whether programs see it."""
        return "x" in self.flags

    @property
    def value(self) -> bytes | None:
        """The value of a scalar; None for arrays and for variables that were never set."""
        if self.literal is None or self.literal.startswith(b"("):
            return None
        return decode(self.literal)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellState:
    """Everything that persists from one command to the next."""

    directory: bytes
    previous: bytes = b""
    """`OLDPWD`."""
    stack: tuple[bytes, ...] = ()
    """`pushd`'s directories below the current one."""
    variables: Mapping[bytes, Variable] = field(default_factory=lambda: MappingProxyType({}))
    functions: bytes = b""
    """Function definitions in source form. This is the only code, so commands with a higher access never get it."""
    exported_functions: tuple[bytes, ...] = ()
    aliases: Mapping[bytes, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """Name → value, still quoted."""
    shopts: Mapping[bytes, bool] = field(default_factory=lambda: MappingProxyType({}))
    options: Mapping[bytes, bool] = field(default_factory=lambda: MappingProxyType({}))
    umask: bytes = b"0022"
    _environment: list[Mapping[bytes, bytes]] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def environment(self) -> Mapping[bytes, bytes]:
        """The exported variables. They are read once, because every command is checked against them."""
        if not self._environment:
            found = {
                name: value
                for name, variable in self.variables.items()
                if variable.exported and (value := variable.value) is not None
            }
            self._environment.append(MappingProxyType(found))
        return self._environment[0]

    @property
    def function_names(self) -> frozenset[str]:
        """The names of the functions that this state defines."""
        return frozenset(name.decode(errors="replace") for name in _FUNCTION.findall(self.functions))

    def entering(self, directory: str | None) -> ShellState:
        """Return this state in another directory; None leaves it."""
        return self if directory is None else replace(self, directory=directory.encode("utf-8", "surrogateescape"))

    def with_data_of(self, other: ShellState) -> ShellState:
        """Return this state with the directory and the exported values of another. Data is taken over, code is not."""
        kept = {name: variable for name, variable in self.variables.items() if not variable.exported}
        for name, value in other.environment.items():
            kept[name] = Variable("x", quote_scalar(value))
        return replace(
            self,
            directory=other.directory,
            previous=other.previous,
            stack=other.stack,
            umask=other.umask,
            variables=MappingProxyType(kept),
        )


def initial(directory: str, environment: Mapping[str, str]) -> ShellState:
    """Return the state of a session in which nothing has run."""
    variables = {name.encode(): Variable("x", quote_scalar(value.encode())) for name, value in environment.items()}
    return ShellState(
        directory=directory.encode(), variables=MappingProxyType(variables), shopts={b"expand_aliases": True}
    )


_PLAIN = re.compile(rb"(?!GIT_|BASH|LD_|SHELLOPTS|POSIXLY_CORRECT|IFS)[A-Za-z_][A-Za-z0-9_]*")
_RUNS_UNNAMED = b"command_not_found_handle"
"""A function that runs although no command names it."""
_IDENTITY = re.compile(rb"GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|EMAIL")


def for_secrets(state: ShellState) -> ShellState:
    """Return the part of a state that a command gets which may read secret files.

    Earlier commands that nobody was asked about could otherwise read them, with code that the approval request does not
    show: a person is shown exported variables, and the functions and aliases that the command names.
    """
    return replace(
        state,
        variables=MappingProxyType(
            {
                name: variable
                for name, variable in state.variables.items()
                if variable.exported or not SENSITIVE.fullmatch(name.decode(errors="replace"))
            }
        ),
        functions=state.functions if _is_inert(state.functions) else b"",
        exported_functions=(),
        options=MappingProxyType({**state.options, b"xtrace": False}),
    )


def _is_inert(functions: bytes) -> bool:
    """Whether reading this runs nothing, and nothing in it runs unless it is named. A dump may hold any other code.

    What is not ASCII may mean something else to the shell: it reads characters as its locale says.
    """
    from toolgate.command.definitions import has_only_definitions

    return functions.isascii() and _RUNS_UNNAMED not in functions and has_only_definitions(functions.decode())


def for_git(state: ShellState, environment: Mapping[str, str]) -> ShellState:
    """Return the part of a state that git gets: directory, umask, committer, and variables that programs do not see."""
    first = initial(state.directory.decode("utf-8", "surrogateescape"), environment)
    variables = dict(first.variables)
    for name, variable in state.variables.items():
        plain = variable.literal is not None and variable.flags.strip("-") in ("", "x") and variable.value is not None
        if plain and _IDENTITY.fullmatch(name):
            variables[name] = variable
        elif plain and name not in variables and _PLAIN.fullmatch(name):
            variables[name] = Variable("", variable.literal)
    return replace(first, directory=state.directory, umask=state.umask, variables=MappingProxyType(variables))
