"""Makes untrusted text safe to show: it cannot move the cursor, hide text or reverse it."""

import re
import sys
from itertools import groupby

from toolgate.command.approval_text import GUTTER
from toolgate.text.visible import collapse_runs, visible

__all__ = ["collapse_runs", "excerpt", "for_terminal", "prose", "visible", "without_escapes"]

_ESCAPE = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
_HARMLESS = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u3000": "  ", "\ufe0e": None, "\ufe0f": None, "\u200d": None, "\r": None}
)
"""Common characters in ordinary text: spaces of other widths, and joiners in emoji."""


def without_escapes(text: str) -> str:
    """Remove the sequences that colour or move text on a terminal."""
    return re.sub(_ESCAPE, "", text) if "\x1b" in text else text


def prose(text: str) -> str:
    """Make a model's text safe: like `visible`, but common characters are simplified instead of escaped."""
    if text.isascii() and text.isprintable():
        return text
    return visible(without_escapes(text).translate(_HARMLESS))


def for_terminal(text: str) -> str:
    """Return JSON for standard output. At a terminal, what would control it is escaped; it stays the same JSON."""
    if text.isascii() or not sys.stdout.isatty():
        return text
    return re.sub(r"[^ -~\n]", lambda found: found[0] if visible(found[0]) == found[0] else _in_json(found[0]), text)


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def excerpt(text: str, *, lines: int, width: int) -> tuple[str, bool]:
    """Return the start and end of `text` with a count of what was left out, and whether anything was.

    The lines of a command and the lines about it are cut separately, so that neither hides the other.
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
