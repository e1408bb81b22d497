"""What a session takes along when another process goes on with it: its shell's state, and what it knows of files.

The text is the shell's own with two more keys, so that a process which does not know them can read it all the same.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext


class SessionHandoff:
    """What is stored of a session, and what is to be stored of it now."""

    def __init__(self, context: ToolContext, stored: str = "") -> None:
        self._context = context
        self._stored = stored
        self._seen = self._changes()

    def of_shell(self) -> str | None:
        """Everything, because a command has changed the shell; None if none has."""
        return None if self._changes()[0] == self._seen[0] else self.all()

    def all(self) -> str | None:
        """Everything, empty if that is nothing; None if it is stored already. `kept` says that it is."""
        if self._changes() == self._seen:
            return None
        text = pack(self._context)
        if text != self._stored:
            return text
        self.kept(text)
        return None

    def kept(self, text: str | None) -> None:
        """This was stored; nothing was if it is None."""
        if text is not None:
            self._stored = text
            self._seen = self._changes()

    def _changes(self) -> tuple[object, int, int]:
        """What is another one when there is something new; the shell's first."""
        shell = self._context.state.shell
        left, jobs = ((), 0) if shell is None else (shell.states, shell.jobs.number)
        return left, jobs, self._context.state.seen_files.changes


def pack(context: ToolContext) -> str:
    """What the session would miss in another process, as text; empty if that is nothing."""
    shell = context.state.shell
    state = None if shell is None else shell.export_state()
    more = {"known": context.state.seen_files.export_state(), "jobs": 0 if shell is None else shell.jobs.number}
    if state is None and not any(more.values()):
        return ""
    text = json.dumps(more, separators=(",", ":"))
    return text if state is None else f"{text[:-1]},{state[1:]}"


def unpack(context: ToolContext, text: str) -> None:
    """Go on from what another process has packed; a text that cannot be read must not keep a session from going on."""
    if not text or context.workspace is None:
        return
    try:
        found = json.loads(text)
        context.state.seen_files.import_state(found.pop("known", {}))
        number = found.pop("jobs", 0)
        if found or number:
            context.shell.jobs.number = number
            context.shell.import_state(text)
    except Exception as error:  # noqa: BLE001 - the state of a later version, or a damaged one
        logger("agent").warning("session_state_not_read", session_id=context.session_id, error=type(error).__name__)
        with suppress(ToolError):  # the project is gone, and every command says so
            context.shell.report_lost_state("it could not be read")
