"""Text from elsewhere, made safe to show: nothing in it can move the cursor, hide or reverse what a person reads."""

import re

from toolgate.shell.analysis.visible import squeezed, visible

__all__ = ["excerpt", "prose", "squeezed", "visible", "without_escapes"]

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
    """The start and the end of `text`, what is left out counted; and whether anything was left out."""
    rows = text.split("\n")
    cut = len(rows) > lines
    if cut:
        half = lines // 2
        rows = [*rows[:half], f"⟨{len(rows) - 2 * half} lines left out⟩", *rows[-half:]]
    clipped = [_clip(row, width) for row in rows]
    return "\n".join(clipped), cut or clipped != rows


def _clip(row: str, width: int) -> str:
    if len(row) <= width:
        return row
    half = width // 2
    return f"{row[:half]}⟨{len(row) - 2 * half} characters left out⟩{row[-half:]}"
