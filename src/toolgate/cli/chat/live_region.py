"""The rows at the bottom of the terminal that are redrawn; everything above them is printed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from toolgate.cli.chat.canvas import Canvas, width

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Synchronized output: terminals that support it show the text in between at once."""
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
"""Hide and show the cursor, which would jump around in live rows."""


class LiveRegion:
    """A few live rows. They never remain in the scrollback."""

    def __init__(self, out: TextIO, canvas: Canvas) -> None:
        self._out = out
        self._canvas = canvas
        self._lines: list[str] = []

    def print(self, lines: Sequence[str], live: Sequence[str] | None = None) -> None:
        """Print lines permanently above the live rows; `live` replaces the live rows at the same time."""
        if lines:
            self._draw("".join(f"{line}\n" for line in lines), self._lines if live is None else self._fitting(live))

    def show(self, lines: Sequence[str]) -> None:
        """Replace the live rows. If there are more than the terminal has, the last ones are shown."""
        fitting = self._fitting(lines)
        if fitting != self._lines:
            self._draw("", fitting)

    def bell(self) -> None:
        """Ring the terminal's bell: somebody is waited for."""
        self._out.write("\a")
        self._out.flush()

    def clear(self) -> None:
        """Remove the live rows and restore the cursor."""
        self._draw("", [])

    def _fitting(self, lines: Sequence[str]) -> list[str]:
        return list(lines)[-(self._canvas.rows - 1) :]

    def _draw(self, above: str, lines: list[str]) -> None:
        cursor = _HIDE_CURSOR if lines else _SHOW_CURSOR
        self._out.write(_BEGIN + cursor + self._erased() + above + "\n".join(lines) + _END)
        self._lines = lines
        self._out.flush()

    def _erased(self) -> str:
        """Return the sequence that moves to the start of the live rows; a narrower terminal has wrapped them."""
        if not self._lines:
            return ""
        columns = self._canvas.columns
        rows = sum(max(1, -(-width(line) // columns)) for line in self._lines)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"
