"""Draws with rich and returns coloured lines that are never wider than the terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO, cast

from toolgate.extras import optional_imports

with optional_imports():
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from toolgate.cli.chat.graphics import Graphics

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_NARROWEST, _LOWEST = 20, 5
_MAX_COLUMNS = 120
"""Maximum columns of text; longer lines are hard to read."""


Piece = tuple[str, str] | str
"""Text with its style, or plain text."""


class Canvas:
    """Draws for one terminal, at its current width."""

    def __init__(self, out: TextIO, graphics: Graphics | None = None) -> None:
        self.graphics = graphics
        """How the terminal takes pictures; None if it does not."""
        probe = Console(file=out)
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system=cast("Any", probe.color_system or "standard"),
            no_color=probe.no_color,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )

    @property
    def columns(self) -> int:
        """The terminal's width."""
        return max(_size().columns, _NARROWEST)

    @property
    def rows(self) -> int:
        """The terminal's height."""
        return max(_size().lines, _LOWEST)

    def lines(self, *drawn: RenderableType, wide: bool = False) -> list[str]:
        """Draw as lines. One column stays free, so that no line wraps by itself."""
        self._console.width = self.columns - 1 if wide else min(self.columns - 1, _MAX_COLUMNS)
        with self._console.capture() as captured:
            for one in drawn:
                self._console.print(one)
        text = captured.get()
        return [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []

    def line(self, *parts: Piece) -> str:
        """Draw one line of coloured pieces, cut at the terminal's width."""
        text = Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
        text.truncate(self.columns - 1, overflow="ellipsis")
        return next(iter(self.lines(text, wide=True)), "")

    def wrapped(self, *parts: Piece) -> list[str]:
        """Draw coloured pieces as a paragraph."""
        return self.lines(Text.assemble(*parts), wide=True)

    def cut(self, texts: Iterable[str], style: str = "", indent: str = "") -> list[str]:
        """Draw plain lines in one colour, one row per line."""
        return [self.line(indent, (text.expandtabs(8), style)) for text in texts]


def _size() -> os.terminal_size:
    try:
        found = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        found = os.terminal_size((0, 0))
    return found if found.columns and found.lines else os.terminal_size((80, 24))


def width(line: str) -> int:
    """Return how many columns a coloured line takes."""
    return cell_len(_COLOURS.sub("", line))


def is_blank(line: str) -> bool:
    """Whether a coloured line has no visible characters."""
    return not _COLOURS.sub("", line).strip()
