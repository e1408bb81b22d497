"""`${VARIABLE}` in a config of servers, the way Claude Code, Cursor and VS Code write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLACE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unset(Exception):
    """A value that cannot be filled in here; the text says what to do."""


def expanded(value: Any, environ: Mapping[str, str], root: str) -> Any:
    """A copy in which every `${…}` of every text is filled in; `Unset` where one cannot be."""
    if isinstance(value, str):
        return _PLACE.sub(lambda match: _filled(match[1], environ, root), value)
    if isinstance(value, list):
        return [expanded(item, environ, root) for item in value]
    if isinstance(value, dict):
        return {key: expanded(item, environ, root) for key, item in value.items()}
    return value


def _filled(place: str, environ: Mapping[str, str], root: str) -> str:
    """`NAME`, `NAME:-default`, `env:NAME`, or one of the places that editors know."""
    if place == "workspaceFolder" and root:
        return root
    if place == "userHome" and environ.get("HOME"):
        return environ["HOME"]
    name, separator, default = place.removeprefix("env:").partition(":-")
    if not _NAME.fullmatch(name):
        raise Unset(f"${{{place}}} cannot be filled in here; write the value, or ${{VARIABLE}}")
    if name in environ:
        return environ[name]
    if separator:
        return default
    raise Unset(f"it needs the variable {name}, which is not set")
