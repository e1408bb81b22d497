"""What is written while a turn runs: messages that wait for its end, and the line that is being written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.cli.chat.tool_card import clipped
from toolgate.cli.visible import prose

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas

ENTER, BACK, ERASE = "\r", "\x1b", "\x15"
"""Keys: send the line, take the last message back, forget the line."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHOWN = 3
"""Messages that are shown, the last ones."""
_MOST = 1024 * 1024
"""Characters of a line, as of a message."""


class Ahead:
    """The queue of a chat. Every message is a turn of its own, in the order in which they were sent."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.line = ""
        self.changed: Callable[[], None] = lambda: None
        """Told that something else is to be shown."""

    def key(self, key: str) -> None:
        """Take a key, or all of a text that was pasted; line breaks in it are no Enter."""
        if key == ENTER:
            if self.line.strip():
                self.messages.append(self.line)
                self.line = ""
        elif key == BACK:
            self._take_back()
        elif key == ERASE:
            self.line = ""
        elif key in ("\x7f", "\b"):
            self.line = self.line[:-1]
        else:
            self.line = (self.line + _CONTROLS.sub("", key))[:_MOST]
        self.changed()

    def _take_back(self) -> None:
        """The last message is written on."""
        if self.messages:
            self.line = "\n".join(filter(None, [self.messages.pop(), self.line]))

    def hold(self) -> None:
        """Nothing is sent by itself any more: it is the person's to send, change or forget."""
        self.line = "\n\n".join(filter(None, [*self.messages, self.line]))
        self.messages.clear()

    def next(self) -> str | None:
        """The message that is to be sent now."""
        return self.messages.pop(0) if self.messages else None

    def rest(self) -> str:
        """The line that was not sent, for the prompt; it is there once."""
        line, self.line = self.line, ""
        return line

    def rows(self, canvas: Canvas) -> list[str]:
        """What waits, and what is being written."""
        if not self.messages and not self.line:
            return []
        hidden = len(self.messages) - _SHOWN
        rows = [canvas.line((f"  … {hidden} more wait", "dim"))] if hidden > 0 else []
        for number, message in enumerate(self.messages[-_SHOWN:], max(hidden, 0) + 1):
            hint = "  Esc takes it back" if number == len(self.messages) else ""
            shown = clipped([("  queued  ", "dim"), _one_row(message)], canvas.columns - 1 - len(hint))
            rows.append(canvas.line(*shown, (hint, "dim")))
        return ["", *rows, *([canvas.line(("❯ ", "cyan"), _end(self.line, canvas.columns - 5), "▏")] * bool(self.line))]


def _one_row(text: str) -> str:
    return prose(text.strip()).replace("\n", " ⏎ ")


def _end(text: str, room: int) -> str:
    """The end of a text, as much as has room."""
    from rich.cells import cell_len

    row = prose(text).replace("\n", " ⏎ ").replace("\t", " ")[-room:]
    while cell_len(row) > room:
        row = row[1:]
    return row
