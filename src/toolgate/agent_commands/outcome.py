"""The results of parsing a command line: a tool call, a session command, usage, or a command of the shell."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedCall:
    """An agent command: the call of a tool."""

    command: str
    """The agent command, for example `read`."""
    tool_name: str
    arguments: dict[str, Any]
    cwd: str = "."
    """The directory, relative to the root, that a relative path in the arguments starts from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCommand:
    """An agent command about the session itself, which has no tool: `jobs`, `tools`, and `todo` without items."""

    command: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """An agent command that runs nothing: help (exit code 0), or a mistake (2)."""

    command: str
    exit_code: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """A command for the shell."""

    command: str
    """The text to run, after unwrapping."""
    hint: str = ""
    """A line for `stderr` that suggests a better command."""
    keep: bool = False
    """At its deadline it becomes a background job instead of being ended (`jobs keep`)."""
    after: float | None = None
    """Seconds until it becomes one; None means the call's own deadline."""


Outcome = RoutedCall | SessionCommand | Usage | Native
