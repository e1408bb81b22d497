"""Colours for terminals, and columns."""

import os
import unicodedata
from collections.abc import Sequence
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Style:
    """Colours text for one stream. Without a terminal, or with NO_COLOR, it changes nothing."""

    def __init__(self, stream: TextIO) -> None:
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.on = wanted and stream.isatty()

    def __call__(self, text: str, *names: str) -> str:
        """Return `text` in the named colours."""
        if not self.on or not names:
            return text
        return f"\033[{';'.join(_CODES[name] for name in names)}m{text}\033[0m"


def diff_colour(line: str) -> str:
    """Return the colour of a diff line; empty for unchanged lines."""
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def width(text: str) -> int:
    """Return how many columns `text` takes: two per wide character, none per combining one."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Pad every cell except a row's last to the width of its column."""
    widths = [max(width(row[index]) for row in rows if index < len(row)) for index in range(max(map(len, rows)))]
    return [
        [cell + " " * (widths[index] - width(cell)) for index, cell in enumerate(row[:-1])] + list(row[-1:])
        for row in rows
    ]
