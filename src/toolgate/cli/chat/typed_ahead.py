"""Input that is typed while a turn runs: queued messages, and the current line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.cli.chat.tool_card import clip
from toolgate.cli.visible import prose
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas

ENTER, BACK, ERASE = "\r", "\x1b", "\x15"
"""Keys: send the line, take back the last message, clear the line."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MAX_SHOWN = 3
"""Maximum number of queued messages that are shown."""
_MAX_LINE = 1024 * 1024
"""Maximum characters of a line, as of a message."""


class TypedAhead:
    """The message queue of a chat. Every message becomes a turn, in order."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.line = ""
        self.changed: Callable[[], None] = lambda: None
        """Called when the rows have changed."""

    def key(self, key: str) -> None:
        """Handle a key, or a pasted text, in which line breaks do not send."""
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
            self.line = (self.line + _CONTROLS.sub("", key))[:_MAX_LINE]
        self.changed()

    def _take_back(self) -> None:
        """Put the last message back into the line."""
        if self.messages:
            self.line = "\n".join(filter(None, [self.messages.pop(), self.line]))

    def hold(self) -> None:
        """Put all queued messages back into the line, so that the person sends, changes or deletes them."""
        self.line = "\n\n".join(filter(None, [*self.messages, self.line]))
        self.messages.clear()

    def next(self) -> str | None:
        """Return the next message to send."""
        return self.messages.pop(0) if self.messages else None

    def rest(self) -> str:
        """Return the unsent line for the prompt, once."""
        line, self.line = self.line, ""
        return line

    def rows(self, canvas: Canvas) -> list[str]:
        """Draw the queued messages and the current line."""
        if not self.messages and not self.line:
            return []
        from rich.cells import cell_len

        hidden = len(self.messages) - _MAX_SHOWN
        rows = [canvas.line((translate("  … {hidden} more queued", hidden=hidden), "dim"))] if hidden > 0 else []
        for number, message in enumerate(self.messages[-_MAX_SHOWN:], max(hidden, 0) + 1):
            hint = translate("  Esc takes it back") if number == len(self.messages) else ""
            shown = clip([(translate("  queued  "), "dim"), _one_row(message)], canvas.columns - 1 - cell_len(hint))
            rows.append(canvas.line(*shown, (hint, "dim")))
        if self.line:
            rows.append(canvas.line(("❯ ", "cyan"), _end(self.line, canvas.columns - 5), "▏"))
        return ["", *rows]


def _one_row(text: str) -> str:
    return prose(text.strip()).replace("\n", " ⏎ ")


def _end(text: str, room: int) -> str:
    """Return the end of a text that fits into `room` columns."""
    from rich.cells import cell_len

    row = prose(text).replace("\n", " ⏎ ").replace("\t", " ")[-room:]
    while cell_len(row) > room:
        row = row[1:]
    return row
