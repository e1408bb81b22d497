"""Streams Markdown: complete blocks are printed once, and only the last one is redrawn."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from toolgate.cli.chat.canvas import is_blank
from toolgate.cli.visible import prose
from toolgate.extras import optional_imports

with optional_imports():
    from rich import markdown
    from rich.padding import Padding
    from rich.syntax import Syntax
    from rich.text import Text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import Console, ConsoleOptions, RenderResult

    from toolgate.cli.chat.canvas import Canvas

_MAX_BLOCK = 20_000
"""Maximum characters of one block that are parsed as Markdown; a longer one is shown as plain text."""


class _Heading(markdown.Heading):
    """A heading that is aligned like all other text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class _Code(markdown.CodeBlock):
    """Code in the terminal's own colours and background, easy to copy."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Padding(
            Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True), (0, 0, 0, 2)
        )


class _Markdown(markdown.Markdown):
    """rich's Markdown with nothing hidden: raw HTML is shown as text, and a link shows its target."""

    elements = {
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = _parser().parse(text)
        for token in [part for block in self.parsed for part in (block, *(block.children or ()))]:
            token.content = prose(token.content)  # entities such as `&#x202e;` have become characters
            token.attrs = {
                name: prose(value) if isinstance(value, str) else value for name, value in token.attrs.items()
            }


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


def draw_markdown(canvas: Canvas, text: str) -> list[str]:
    """Draw Markdown as lines without blank ones around it. Text that is too long is shown as plain text."""
    shown = prose(text.strip("\n"))
    lines = canvas.lines(_Markdown(shown) if len(shown) <= _MAX_BLOCK else Text(shown))
    full = [number for number, line in enumerate(lines) if not is_blank(line)]
    return lines[full[0] : full[-1] + 1] if full else []


class MarkdownStream:
    """One message as it arrives."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._text = ""
        self._drawn: tuple[str, int, list[str]] = ("", 0, [])
        self._begun = False

    def feed(self, text: str) -> None:
        """Add the next piece."""
        self._text += text

    def finished(self) -> list[str]:
        """Return the lines of newly completed blocks, each once."""
        settled = self._settled()
        if not settled:
            return []
        done, self._text = self._text[:settled], self._text[settled:]
        return self._block(done)

    def close(self) -> list[str]:
        """Return the lines of the rest."""
        done, self._text = self._text, ""
        return self._block(done) if done.strip() else []

    def live(self) -> list[str]:
        """Return the lines of the current block."""
        if not self._text.strip():
            return []
        text, columns, lines = self._drawn
        if text != self._text or columns != self._canvas.columns:
            lines = draw_markdown(self._canvas, self._text)
            self._drawn = self._text, self._canvas.columns, lines
        return ["", *lines] if self._begun else lines

    def _block(self, text: str) -> list[str]:
        lines = draw_markdown(self._canvas, text)
        before = [""] if self._begun else []
        self._begun = True
        return [*before, *lines]

    def _settled(self) -> int:
        """Return where the last block starts that has a complete line; an incomplete line completes no block."""
        whole = self._text.rfind("\n") + 1
        if not whole or "\n" not in self._text[: whole - 1]:
            return 0
        if len(self._text) > _MAX_BLOCK:
            return whole
        starts = [token.map[0] for token in _parser().parse(self._text[:whole]) if token.level == 0 and token.map]
        first = max(starts, default=0)
        return sum(len(line) for line in self._text.split("\n")[:first]) + first
