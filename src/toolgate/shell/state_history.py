"""Remembers a session's state per access, so that code never reaches a higher access."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType

from toolgate.protocol.plan import Access
from toolgate.shell import state_dump
from toolgate.shell.state import SENSITIVE, ShellState

_PLACES = (b"HOME", b"TMPDIR")
_ORDER: tuple[Access, ...] = ("read", "write", "full")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """What command analysis, and the person who is asked, must know about the shell that a command will run in."""

    directory: str
    functions: frozenset[str]
    aliases: frozenset[str]
    changes: tuple[tuple[str, str | None], ...]
    """Exported variables that differ from the session's first environment: name and new value (None: removed).

    `umask` is listed here too, because it is inherited in the same way.
    """


class StateHistory:
    """The last state, and for each access the last one that may be sourced there."""

    def __init__(self, first: ShellState, full: ShellState | None = None) -> None:
        self._firsts: dict[Access, ShellState] = {"read": first, "write": first, "full": full or first}
        self._latest = first
        self._dumped: tuple[bytes, ShellState] | None = None
        self._sourced: dict[Access, ShellState] = dict(self._firsts)

    def first(self, access: Access) -> ShellState:
        """The state after a restart. `full` may start with another home and temp."""
        return self._firsts[access]

    @property
    def latest(self) -> ShellState:
        """The state after the last command."""
        return self._latest

    @property
    def all(self) -> tuple[ShellState, ...]:
        """All remembered states. They compare equal if nothing has changed."""
        return (self._latest, *self._sourced.values())

    def keep(self, access: Access, state: ShellState) -> None:
        """Remember the state that a command left. Lower accesses may source it, higher ones not."""
        self._latest = state
        for level in _ORDER[: _ORDER.index(access) + 1]:
            self._sourced[level] = state

    def take(self, access: Access, text: bytes) -> None:
        """Remember the state that a command dumped. Nothing changes if it dumped nothing, or on `BadDump`."""
        if text:
            self.keep(access, self._parsed(text))

    def take_directory(self, access: Access, text: bytes) -> None:
        """Remember only the directory, for a shell that got no more of the state."""
        if text:
            ended = state_dump.parse(text)
            own = self.for_access(access)
            self.keep(access, replace(own, directory=ended.directory, previous=ended.previous or own.previous))

    def return_to(self, before: ShellState, access: Access) -> None:
        """Go back to the directory of an earlier state, for a command that had one of its own."""
        if self._latest is not before:
            self.keep(access, replace(self._latest, directory=before.directory, previous=before.previous))

    def _parsed(self, text: bytes) -> ShellState:
        """Parse a dump. Most commands leave the state unchanged."""
        if self._dumped is None or self._dumped[0] != text:
            self._dumped = text, state_dump.parse(text)
        return self._dumped[1]

    def directory_in(self, root: str) -> str:
        """The directory after the last command: relative to the root inside it, absolute elsewhere."""
        directory = os.fsdecode(self._latest.directory)
        if directory == root:
            return "."
        inside = directory.startswith(root + "/")
        return os.path.normpath(directory[len(root) + 1 :]) if inside else directory

    def forget(self) -> None:
        """Return to the first state."""
        self._latest, self._dumped, self._sourced = self._firsts["write"], None, dict(self._firsts)

    def forget_code(self, access: Access) -> None:
        """Keep only directory and environment, for a state that does not load."""
        self.keep(access, self._firsts[access].with_data_of(self._latest))

    def for_access(self, access: Access) -> ShellState:
        """Return the state that a command gets: code of its own or a higher access, data of the last command."""
        own = self._sourced[access]
        return self._at_home(access, own if own is self._latest else own.with_data_of(self._latest))

    def _at_home(self, access: Access, state: ShellState) -> ShellState:
        """Return the state with the home and temp of its access, unless a command has set others."""
        first = self._firsts[access]
        if first is self._firsts["write" if access == "full" else "full"]:
            return state
        variables = dict(state.variables)
        for name in _PLACES:
            others = {one.environment.get(name) for one in self._firsts.values()}
            if name in first.variables and state.environment.get(name) in others:
                variables[name] = first.variables[name]
        return state if variables == state.variables else replace(state, variables=MappingProxyType(variables))

    def view(self, access: Access) -> StateView:
        """Return what command analysis and approval requests need to know about the state."""
        state = self.for_access(access)
        return StateView(
            directory=_text(state.directory),
            functions=state.function_names,
            aliases=frozenset(_text(name) for name in state.aliases),
            changes=tuple(_changes(self._firsts[access], state)),
        )


def _changes(first: ShellState, state: ShellState) -> Iterator[tuple[str, str | None]]:
    """Return the changed exported variables; those that decide which code runs come first."""
    before, now = first.environment, state.environment
    changed = (name for name in {**before, **now} if before.get(name) != now.get(name))
    for name in sorted(changed, key=lambda name: (not SENSITIVE.fullmatch(_text(name)), name)):
        yield _text(name), _text(now[name]) if name in now else None
    if state.umask != first.umask:
        yield "umask", _text(state.umask)


def _text(value: bytes) -> str:
    """Escape bytes that are not text, so that different values look different."""
    return value.decode("utf-8", "backslashreplace")
