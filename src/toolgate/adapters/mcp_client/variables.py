"""Expands `${VARIABLE}` in a server config, in the syntax of Claude Code, Cursor and VS Code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UnresolvedVariable(Exception):
    """A variable cannot be expanded; the text says what to do."""


def expand(value: Any, environ: Mapping[str, str], root: str) -> Any:
    """Return a copy with every `${…}` in every text expanded. Raises `UnresolvedVariable` if one cannot be."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: _resolve(match[1], environ, root), value)
    if isinstance(value, list):
        return [expand(item, environ, root) for item in value]
    if isinstance(value, dict):
        return {key: expand(item, environ, root) for key, item in value.items()}
    return value


def _resolve(expression: str, environ: Mapping[str, str], root: str) -> str:
    """Expand `NAME`, `NAME:-default`, `env:NAME`, or one of the folders that editors define."""
    if expression == "workspaceFolder" and root:
        return root
    if expression == "userHome" and environ.get("HOME"):
        return environ["HOME"]
    name, separator, default = expression.removeprefix("env:").partition(":-")
    if not _NAME.fullmatch(name):
        raise UnresolvedVariable(f"${{{expression}}} cannot be expanded here; write the value, or ${{VARIABLE}}")
    if name in environ:
        return environ[name]
    if separator:
        return default
    raise UnresolvedVariable(f"it needs the variable {name}, which is not set")
