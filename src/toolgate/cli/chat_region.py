"""The rows at the bottom of the terminal that are drawn again and again; everything above them is printed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from toolgate.cli.chat_canvas import Canvas, width

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?2026l"
"""Terminals that know it show what is between at once; and the cursor does not run about."""


class Region:
    """A few live rows. Nothing of them is ever left behind in what scrolls away."""

    def __init__(self, out: TextIO, canvas: Canvas) -> None:
        self._out = out
        self._canvas = canvas
        self._lines: list[str] = []

    def print(self, lines: Sequence[str]) -> None:
        """Print lines for good, above the live rows."""
        if lines:
            self._draw("".join(f"{line}\n" for line in lines), self._lines)

    def show(self, lines: Sequence[str]) -> None:
        """Replace the live rows; of more than the terminal has, the last ones."""
        fitting = list(lines)[-(self._canvas.rows - 1) :]
        if fitting != self._lines:
            self._draw("", fitting)

    def clear(self) -> None:
        """Leave no live row, and the cursor where it was found."""
        if self._lines:
            self._draw("", [])
        self._out.write("\x1b[?25h")
        self._out.flush()

    def _draw(self, above: str, lines: list[str]) -> None:
        self._out.write(_BEGIN + self._erased() + above + "\n".join(lines) + _END)
        self._lines = lines
        self._out.flush()

    def _erased(self) -> str:
        """Back to where the live rows begin; a terminal that became narrower has broken them into more rows."""
        if not self._lines:
            return ""
        columns = self._canvas.columns
        rows = sum(max(1, -(-width(line) // columns)) for line in self._lines)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"
