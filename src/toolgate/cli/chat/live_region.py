"""The rows at the bottom of the terminal that are drawn again and again; everything above them is printed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from toolgate.cli.chat.canvas import Canvas, width

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Terminals that know these show what is between at once."""
_HIDDEN, _SHOWN = "\x1b[?25l", "\x1b[?25h"
"""The cursor; where rows are live, it would only run about."""


class Region:
    """A few live rows. Nothing of them is ever left behind in what scrolls away."""

    def __init__(self, out: TextIO, canvas: Canvas) -> None:
        self._out = out
        self._canvas = canvas
        self._lines: list[str] = []

    def print(self, lines: Sequence[str], live: Sequence[str] | None = None) -> None:
        """Print lines for good, above the live rows; `live` replaces those in the same moment."""
        if lines:
            self._draw("".join(f"{line}\n" for line in lines), self._lines if live is None else self._fitting(live))

    def show(self, lines: Sequence[str]) -> None:
        """Replace the live rows; of more than the terminal has, the last ones."""
        fitting = self._fitting(lines)
        if fitting != self._lines:
            self._draw("", fitting)

    def clear(self) -> None:
        """Leave no live row, and the cursor where it was found."""
        self._draw("", [])

    def _fitting(self, lines: Sequence[str]) -> list[str]:
        return list(lines)[-(self._canvas.rows - 1) :]

    def _draw(self, above: str, lines: list[str]) -> None:
        cursor = _HIDDEN if lines else _SHOWN
        self._out.write(_BEGIN + cursor + self._erased() + above + "\n".join(lines) + _END)
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
