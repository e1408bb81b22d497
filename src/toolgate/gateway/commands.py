"""The commands that a composer offers after `/`; each is a request that every client can send."""

from collections.abc import Iterable
from typing import Any

from toolgate.protocol.requests import METHODS
from toolgate.workspace.own_commands import OwnCommand

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("rewind", "Go back to an earlier message, with or without the files", "session.rewind"),
    ("fork", "Continue from here in a new session", "session.fork"),
    ("retry", "Take the last turn again", "chat.retry"),
    ("diff", "Show what was changed in this session", "changes.list"),
    ("undo", "Take back changes of files", "changes.undo"),
    ("model", "Choose the model from the next turn on", "session.model"),
    ("compact", "Summarise older steps to make room", "session.compact"),
    ("permissions", "Show and remove what is allowed without asking", "permissions.list"),
    ("export", "Save this session as Markdown or JSON", "session.export"),
    ("rename", "Give this session another title", "session.rename"),
    ("archive", "Take this session out of the list", "session.archive"),
    ("delete", "Delete this session for good", "session.delete"),
    ("status", "Show the project, the model and what was used", "session.get"),
)
"""Name, description, and the method that does it."""


def command_list(own: Iterable[OwnCommand] = ()) -> list[dict[str, Any]]:
    """Return the commands whose method this gateway has, then the ones from files: those are sent as messages."""
    found = [{"name": name, "description": text} for name, text, method in COMMANDS if method in METHODS]
    taken = {name for name, _, _ in COMMANDS}
    more = [command for command in own if command.name not in taken]
    return [*found, *({"name": command.name, "description": command.description, "own": True} for command in more)]
