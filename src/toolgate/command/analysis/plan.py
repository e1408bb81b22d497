"""The input and the result of an analysis: `Surroundings` and `CommandPlan`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from toolgate.command.words import UNRESOLVED

Kind = Literal["absent", "file", "directory"]
"""What a path leads to; anything that is neither absent nor a directory counts as a file."""
SYSTEM = (
    *("/usr", "/opt", "/nix", "/gnu", "/snap", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"),
    *("/proc", "/sys", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/texmf", "/var/cache/fontconfig"),
)
"""Programs, libraries and configuration, which every sandbox shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The state of the shell and of the root that a command line is judged in."""

    root: str = "/"
    """The root's absolute path, as the command sees it."""
    cwd: str = "."
    """The shell's directory, relative to the root."""
    home: str = ""
    """What `~` and `$HOME` stand for; empty: somewhere outside the root."""
    scratch: tuple[str, ...] = ("/tmp",)
    """Private directories outside the root that may be used freely."""
    shown: tuple[str, ...] = SYSTEM
    """Directories outside the root that the sandbox shows read-only."""
    hidden: frozenset[str] = frozenset()
    """Paths in them that it does not show."""
    kind: Callable[[str], Kind] = lambda _: "absent"
    """What a path (relative to the root, normal form) leads to."""
    entries: Callable[[str], tuple[str, ...] | None] = lambda _: None
    """The names in a directory (relative to the root, normal form); None if they are not known, or too many."""
    functions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The shell's functions: name to definition."""
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The shell's aliases: name to replacement."""
    shadows: Callable[[str], str | None] = lambda _: None
    """The file inside the root that `PATH` finds first for a command word, if there is one."""
    sourced: Callable[[str], str | None] = lambda _: None
    """The file inside the root that `PATH` finds first for a script that is named without a directory."""
    content: Callable[[str], str | None] = lambda _: None
    """The text of a script (relative to the root, normal form), if it can be read."""
    git_programs: Callable[[str, str], tuple[str, ...]] = lambda _directory, _verb: ()
    """The commands that `git verb` runs in a directory (relative to the root) because of a repository's settings."""
    holds_code: Callable[[], bool] = lambda: False
    """Whether a variable's value would run something if bash were to evaluate it."""
    evaluates: Callable[[], bool] = lambda: False
    """Whether a variable evaluates what is assigned to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A variable that the command line sets."""

    name: str
    value: str


NOT_COMMANDS = frozenset({">", ">>", "=", "..", UNRESOLVED})
"""First words of entries of `commands` that are not commands; see `CommandPlan`."""
_HARMLESS = frozenset({":", "true", "false", "test", "[", "cd", "pwd", "exit", "return", "break", "continue", "wait"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """Everything that a command line may run, and what a person should know about it.

    `commands` holds the words of every simple command, of a wrapper as well as of what it wraps. Some entries are not
    commands but matter as much, so a rule has to allow them, too: `(">", file)` and `(">>", file)` for a file that is
    written, `("=", name, value)` for a variable that is set, `("..", path)` for a path outside the root, and
    `UNRESOLVED` alone for something that could not be understood.
    """

    commands: tuple[tuple[str, ...], ...]
    assignments: tuple[Assignment, ...] = ()
    dangers: tuple[str, ...] = ()
    """Why it is potentially dangerous; a person is asked if there is any reason."""
    scripts: tuple[str, ...] = ()
    """Files inside the root (relative to it) whose content is run."""
    inputs: tuple[str, ...] = field(default=(), compare=False)
    """Other files inside the root (relative to it) whose content decides what the command does."""
    definitions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """The shell's functions and aliases that it uses."""
    variables: tuple[str, ...] = field(default=(), compare=False)
    """Variables whose values it uses."""
    unresolved: tuple[str, ...] = field(default=(), compare=False)
    """What is only known when it runs: the same text may do something else the next time."""
    suspects: tuple[tuple[str, ...], ...] = ()
    """The words of programs that are not known: any of them may be a command that the program runs."""

    @property
    def plain(self) -> bool:
        """Whether `commands` are all real commands, with every word of consequence known."""
        return not any(command[0] in NOT_COMMANDS for command in self.commands)

    @property
    def harmless(self) -> tuple[tuple[str, ...], ...]:
        """Those of `commands` that do nothing to anything outside the shell itself."""
        return tuple(command for command in self.commands if command[0] in _HARMLESS)

    @property
    def asks(self) -> bool:
        """Whether a person should decide."""
        return bool(self.dangers)

    @property
    def reason(self) -> str:
        """Why, in one line."""
        return "; ".join(self.dangers)
