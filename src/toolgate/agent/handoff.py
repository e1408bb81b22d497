"""State needed to resume a session in another process: its shell's state, files it has seen, tools it has loaded.

The text is the exported state of the shell with a few more keys, which older versions ignore.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext


class SessionHandoff:
    """The stored state of a session, and the changes that are not stored yet."""

    def __init__(self, context: ToolContext, stored: str = "") -> None:
        self._context = context
        self._stored = stored
        self._seen = self._changes()

    def if_shell_changed(self) -> str | None:
        """The whole state if a call has changed the shell or loaded a tool; otherwise None."""
        return None if self._changes()[0] == self._seen[0] else self.if_changed()

    def if_changed(self) -> str | None:
        """The whole state, empty if there is none; None if it is stored already. Call `mark_stored` afterwards."""
        if self._changes() == self._seen:
            return None
        text = pack(self._context)
        if text != self._stored:
            return text
        self.mark_stored(text)
        return None

    def mark_stored(self, text: str | None) -> None:
        """Note that this state was stored; None means that nothing was stored."""
        if text is not None:
            self._stored = text
            self._seen = self._changes()

    def _changes(self) -> tuple[object, int, int]:
        """A value that changes whenever there is new state. Its first part covers state to store after each call."""
        shell = self._context.state.shell
        states, jobs = ((), 0) if shell is None else (shell.states, shell.jobs.number)
        return (states, len(self._context.loaded_tools or ())), jobs, self._context.state.seen_files.changes


def pack(context: ToolContext) -> str:
    """The state that another process needs to resume the session, as text; empty if there is none."""
    shell = context.state.shell
    state = None if shell is None else shell.export_state()
    more: dict[str, Any] = {
        "known": context.state.seen_files.export_state(),
        "jobs": 0 if shell is None else shell.jobs.number,
    }
    if context.loaded_tools:
        more["loaded"] = sorted(context.loaded_tools)
    if state is None and not any(more.values()):
        return ""
    if context.state.rewound_by:
        more["rewound"] = context.state.rewound_by
    text = json.dumps(more, separators=(",", ":"))
    return text if state is None else f"{text[:-1]},{state[1:]}"


async def unpack(context: ToolContext, text: str) -> None:
    """Restore the state that another process has packed. A session with unreadable state can still be resumed."""
    if not text:
        return
    try:
        found = json.loads(text)
        loaded = found.pop("loaded", ())
        if context.loaded_tools is not None:
            context.loaded_tools.update(name for name in loaded if isinstance(name, str))
        if context.workspace is None:
            return
        context.state.seen_files.import_state(found.pop("known", {}))
        context.state.rewound_by = found.pop("rewound", 0)
        number = found.pop("jobs", 0)
        if found or number:
            context.shell.jobs.number = number
            await context.shell.choose_layer()
            context.shell.import_state(text)
    except Exception as error:  # noqa: BLE001 - the state of a later version, or a damaged one
        logger("agent").warning("session_state_not_read", session_id=context.session_id, error=type(error).__name__)
        with suppress(ToolError):  # the project directory is gone, and every command reports that
            context.shell.report_lost_state("it could not be read")
