"""Text from elsewhere, made safe to show: nothing in it can move the cursor, hide or reverse what a person reads."""

import re
from itertools import groupby

from toolgate.command.approval_text import GUTTER
from toolgate.text.visible import collapse_runs, visible

__all__ = ["collapse_runs", "excerpt", "prose", "visible", "without_escapes"]

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_HARMLESS = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u3000": "  ", "\ufe0e": None, "\ufe0f": None, "\u200d": None, "\r": None}
)
"""What ordinary writing is full of: spaces of other widths, and the glue of emoji."""


def without_escapes(text: str) -> str:
    """`text` without the sequences that colour or move things on a terminal."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def prose(text: str) -> str:
    """What a model writes: like `visible`, but what is common in ordinary writing is simplified, not escaped."""
    if text.isascii() and text.isprintable():
        return text
    return visible(without_escapes(text).translate(_HARMLESS))


def excerpt(text: str, *, lines: int, width: int) -> tuple[str, bool]:
    """The start and the end of `text`, what is left out counted; and whether anything was left out.

    The lines of a command and the lines about it are cut each on their own: neither pushes the other out of sight.
    """
    rows = text.split("\n")
    blocks = [list(block) for _, block in groupby(rows, key=lambda row: row.startswith(GUTTER))]
    room = max(lines // len(blocks), 2) if len(rows) > lines else lines
    shown = [_clip(row, width) for block in blocks for row in _ends(block, room)]
    return "\n".join(shown), shown != rows


def _ends(rows: list[str], room: int) -> list[str]:
    if len(rows) <= room:
        return rows
    half = room // 2
    return [*rows[:half], f"⟨{len(rows) - 2 * half} lines left out⟩", *rows[-half:]]


def _clip(row: str, width: int) -> str:
    if len(row) <= width:
        return row
    half = width // 2
    return f"{row[:half]}⟨{len(row) - 2 * half} characters left out⟩{row[-half:]}"
