"""Remembers the state of a session for each access, so that code never climbs to a higher one."""

from __future__ import annotations

import os
from dataclasses import dataclass

from toolgate.log import logger
from toolgate.protocol.plan import Access
from toolgate.shell import dump
from toolgate.shell.state import SENSITIVE, ShellState

_ORDER: tuple[Access, ...] = ("read", "write", "full")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """What analysis and the person who is asked must know about the shell that a command will meet."""

    directory: str
    functions: frozenset[str]
    aliases: frozenset[str]
    changes: tuple[tuple[str, str], ...]
    """Variables that decide which code runs and differ from the session's first environment: name, new value."""


class Memory:
    """The last known state, and for each access the last one that may be sourced there."""

    def __init__(self, first: ShellState) -> None:
        self._first = first
        self._latest = first
        self._dumped: tuple[bytes, ShellState] | None = None
        self._sourced: dict[Access, ShellState] = dict.fromkeys(_ORDER, first)

    @property
    def first(self) -> ShellState:
        """The state that a restart goes back to."""
        return self._first

    @property
    def latest(self) -> ShellState:
        """The state after the last command."""
        return self._latest

    @property
    def all(self) -> tuple[ShellState, ...]:
        """Everything that is remembered; equal means that nothing has changed."""
        return (self._latest, *self._sourced.values())

    def keep(self, access: Access, state: ShellState) -> None:
        """Remember what a command left behind; lower accesses may source it, higher ones not."""
        self._latest = state
        for level in _ORDER[: _ORDER.index(access) + 1]:
            self._sourced[level] = state

    def take(self, access: Access, text: bytes) -> None:
        """Remember what a command wrote down as it ended; one that wrote nothing, or nonsense, has changed nothing."""
        try:
            if text:
                self.keep(access, self._parsed(text))
        except dump.BadDump as error:
            logger("shell").warning("state_not_kept", reason=str(error))

    def _parsed(self, text: bytes) -> ShellState:
        """The state that a dump stands for; most commands leave what they found."""
        if self._dumped is None or self._dumped[0] != text:
            self._dumped = text, dump.parse(text)
        return self._dumped[1]

    def directory_in(self, root: str) -> str:
        """The directory after the last command: relative to the root inside it, absolute elsewhere."""
        directory = os.fsdecode(self._latest.directory)
        inside = directory == root or directory.startswith(root + "/")
        return os.path.relpath(directory, root) if inside else directory

    def forget(self) -> None:
        """Back to the first state."""
        self.__init__(self._first)  # type: ignore[misc]

    def forget_code(self, access: Access) -> None:
        """Keep only directory and environment, for a state that does not load."""
        self.keep(access, self._first.with_data_of(self._latest))

    def for_access(self, access: Access) -> ShellState:
        """The state that a command is given: code of its own access or a higher one, data of the last command."""
        own = self._sourced[access]
        return own if own is self._latest else own.with_data_of(self._latest)

    def view(self, access: Access) -> StateView:
        """The state for whoever judges a command."""
        state = self.for_access(access)
        before, now = self._first.environment, state.environment
        changed = (name for name in {**before, **now} if before.get(name) != now.get(name))
        return StateView(
            directory=_text(state.directory),
            functions=state.function_names,
            aliases=frozenset(_text(name) for name in state.aliases),
            changes=tuple(
                (_text(name), _text(now.get(name, b""))) for name in sorted(changed) if SENSITIVE.fullmatch(_text(name))
            ),
        )


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
