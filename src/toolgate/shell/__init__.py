"""Shell sessions: commands in a sandboxed bash, with the state of the command before.

Lives here: sessions, shell state, captured output, background jobs, hints about failures.
May touch: processes through `process/`, confined by `sandbox/`.
Start reading: `session.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.shell.result import CommandResult as CommandResult
    from toolgate.shell.session import ShellSession as ShellSession

_MODULES = {
    "CommandResult": "toolgate.shell.result",
    "SandboxReport": "toolgate.shell.result",
    "ShellOptions": "toolgate.shell.options",
    "ShellSession": "toolgate.shell.session",
    "BashWrapperHandler": "toolgate.agent_commands.router",
    "CommandRouter": "toolgate.agent_commands.router",
}
"""Public name → its module, which is imported on first use, so that a search does not load a sandbox."""

__all__ = ["BashWrapperHandler", "CommandResult", "CommandRouter", "SandboxReport", "ShellOptions", "ShellSession"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
