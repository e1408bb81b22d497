"""Writes and reads a shell's state as text, so that a session can continue in another process.

Only differences from the first state are written, because another machine has another first environment. Directories
are relative to the root, which may be elsewhere on the other machine.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, get_args

from toolgate.protocol.plan import Access
from toolgate.shell.state import ShellState, Variable
from toolgate.shell.state_history import StateHistory

_PLACES = ("directory", "previous")
_MAX_CHARACTERS = 1024 * 1024
"""Longest state that is written, in characters. For a larger one, only the fact that there was one is written."""
_TOO_LARGE = '{"too_large":true}'


def write(history: StateHistory, root: str) -> str | None:
    """Return the state after the last command as text; None if there is none."""
    made = {access: history.for_access(access) for access in get_args(Access)}
    if all(state == history.first(access) for access, state in made.items()):
        return None
    states = {access: _state(state, history.first(access), os.fsencode(root)) for access, state in made.items()}
    text = json.dumps(states, separators=(",", ":"))
    return text if len(text) <= _MAX_CHARACTERS else _TOO_LARGE


def read(text: str, history: StateHistory, root: str) -> bool:
    """Restore a state that was written elsewhere; False if it had been too large to write."""
    found = json.loads(text)
    for access in reversed(get_args(Access)):  # from the highest access down: a state also counts for lower accesses
        if access in found:
            history.keep(access, _read_state(found[access], history.first(access), os.fsencode(root)))
    return "too_large" not in found


def _state(state: ShellState, first: ShellState, root: bytes) -> dict[str, Any]:
    changed = {
        _text(name): [variable.flags, None if variable.literal is None else _text(variable.literal)]
        for name, variable in state.variables.items()
        if first.variables.get(name) != variable
    }
    return {
        **{name: _place(getattr(state, name), root) for name in _PLACES},
        "stack": [_place(place, root) for place in state.stack],
        "variables": changed,
        "unset": [_text(name) for name in first.variables if name not in state.variables],
        "functions": _text(state.functions),
        "exported_functions": [_text(name) for name in state.exported_functions],
        "aliases": {_text(name): _text(value) for name, value in state.aliases.items()},
        "shopts": {_text(name): value for name, value in state.shopts.items()},
        "options": {_text(name): value for name, value in state.options.items()},
        "umask": _text(state.umask),
    }


def _read_state(found: Mapping[str, Any], first: ShellState, root: bytes) -> ShellState:
    gone = {_bytes(name) for name in found["unset"]}
    variables = {name: variable for name, variable in first.variables.items() if name not in gone}
    for name, (flags, literal) in found["variables"].items():
        variables[_bytes(name)] = Variable(flags, None if literal is None else _bytes(literal))
    return replace(
        first,
        directory=_there(found["directory"], root),
        previous=_there(found["previous"], root),
        stack=tuple(_there(place, root) for place in found["stack"]),
        variables=MappingProxyType(variables),
        functions=_bytes(found["functions"]),
        exported_functions=tuple(map(_bytes, found["exported_functions"])),
        aliases=MappingProxyType({_bytes(name): _bytes(value) for name, value in found["aliases"].items()}),
        shopts=MappingProxyType({_bytes(name): bool(value) for name, value in found["shopts"].items()}),
        options=MappingProxyType({_bytes(name): bool(value) for name, value in found["options"].items()}),
        umask=_bytes(found["umask"]),
    )


def _place(path: bytes, root: bytes) -> list[str]:
    """Return whether a directory is inside the root, and its path."""
    if path == root or path.startswith(root + b"/"):
        return ["root", _text(path[len(root) :])]
    return ["", _text(path)]


def _there(place: list[str], root: bytes) -> bytes:
    kind, path = place
    return root + _bytes(path) if kind == "root" else _bytes(path)


def _text(value: bytes) -> str:
    return base64.b85encode(value).decode()


def _bytes(text: str) -> bytes:
    return base64.b85decode(text)
