"""What a session takes along when another process goes on with it: its shell's state, and what it knows of files.

The text is the shell's own with two more keys, so that a process which does not know them can read it all the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolgate.workspace.known import KnownFiles

if TYPE_CHECKING:
    from toolgate.shell import ShellSession
    from toolgate.tools.context import ToolContext


class Luggage:
    """What is stored of a session, and what is to be stored of it now."""

    def __init__(self, context: ToolContext, stored: str | None) -> None:
        self._context = context
        self._stored = stored or ""
        self._state = self._shell_state()

    def of_shell(self) -> str | None:
        """Everything, because a command has changed the shell; None if none has."""
        state = self._shell_state()
        if state is self._state:
            return None
        self._state = state
        return self.all()

    def all(self) -> str | None:
        """Everything, empty if that is nothing; None if it is stored already."""
        text = pack(self._context)
        if text == self._stored:
            return None
        self._stored = text
        return text

    def _shell_state(self) -> object:
        shell: ShellSession | None = self._context.shared.get("shell")
        return None if shell is None else shell.left


def pack(context: ToolContext) -> str:
    """What the session would miss in another process, as text; empty if that is nothing."""
    shell: ShellSession | None = context.shared.get("shell")
    state = None if shell is None else shell.carried()
    more = {"known": KnownFiles.of(context.shared).carried(), "jobs": 0 if shell is None else shell.jobs.number}
    if state is None and not any(more.values()):
        return ""
    text = json.dumps(more, separators=(",", ":"))
    return text if state is None else f"{text[:-1]},{state[1:]}"


def unpack(context: ToolContext, text: str) -> None:
    """Go on from what another process has packed."""
    found = json.loads(text)
    KnownFiles.of(context.shared).carry_on(found.pop("known", {}))
    number = found.pop("jobs", 0)
    if found or number:
        context.shell.jobs.number = number
        context.shell.carry_on(text)
