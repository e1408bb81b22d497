"""Renders Markdown incrementally: sends what changes with each piece of text, not the whole message."""

from __future__ import annotations

import re
from typing import Any

from toolgate.gateway.highlight import MAX_CODE
from toolgate.gateway.markdown import MarkdownLimit, blocks, is_closing, plain, raw

Patch = dict[str, Any]

_OPENED = re.compile(r"(?P<fence>`{3,}(?=[^`\n]*\n)|~{3,})[^\n]*\n")
_UNFINISHED = re.compile(r"(?:\r|\x1b(?:\[[0-?]{0,64}[ -/]{0,8}|\][^\x07\x1b]{0,256}\x1b?)?)$")
"""An incomplete terminal sequence or line end at the end of a piece."""
_PAUSE = 0.04
_PAUSE_PER_CHARACTER = 4e-6


class StreamingMarkdown:
    """One growing message. In the end the page shows what `render` returns for the whole text.

    A block never changes after another block has followed it, so a patch replaces only the last ones. `{"at": n,
    "html": [...]}` keeps the first `n` blocks and puts these after them. If the last block only grows, as code does,
    `{"append": text}` adds text, not HTML, to it; when the code is complete, its highlighted block replaces it.
    """

    def __init__(self) -> None:
        self._unparsed = ""
        self._limit = MarkdownLimit()
        self._settled = self._shown = 0
        self._tail = ""
        """The source of the block that may still change; in code, its last incomplete line."""
        self._fence = ""
        """The opening fence of the code block at the end of the text."""
        self._code = ""
        """The source of that code block; empty if it is too long to be highlighted."""
        self._closed = False

    @property
    def pause(self) -> float:
        """Seconds to collect text before patches are worth their cost."""
        return _PAUSE + len(self._tail) * _PAUSE_PER_CHARACTER

    def feed(self, text: str) -> None:
        """Add a piece of the message."""
        self._unparsed += text

    def patches(self, *, last: bool = False) -> list[Patch]:
        """Return what has changed since the last call; `last` if the message ends here."""
        text = self._unparsed
        unfinished = None if last else _UNFINISHED.search(text)
        end = len(text) if unfinished is None else unfinished.start()
        self._unparsed = text[end:]
        text = plain(text[:end])
        parsable, rest = ("", text) if self._closed else self._limit.split(text)
        self._tail += parsable
        found = self._parsed_patches(last=last or bool(rest))
        if rest:
            found.append({"append": rest} if self._closed else {"at": self._close(), "html": [raw(rest)]})
        return found

    def _close(self) -> int:
        """Settle all blocks: the rest of the message is one block, which only grows."""
        self._tail = self._fence = ""
        self._closed = True
        return self._shown

    def _parsed_patches(self, *, last: bool) -> list[Patch]:
        found = self._code_patches(last=last) if self._fence else []
        if self._fence or not self._tail.strip("\n"):
            return found
        found += self._block_patches()
        return [*found, *self._code_patches(last=True)] if last else found

    def _code_patches(self, *, last: bool) -> list[Patch]:
        """Add complete lines, up to the one that closes the code."""
        if not self._fence:
            return []
        lines = self._tail.splitlines(keepends=True)
        for number, line in enumerate(lines):
            is_complete = line.endswith("\n") or last
            if not is_complete:
                self._tail = line
                return self._extend_code(lines[:number])
            if is_closing(line.rstrip("\n"), self._fence):
                self._fence = ""
                self._tail = "".join(lines[number + 1 :])
                grown = self._extend_code(lines[:number], closing=line)
                self._settled += 1
                return grown
        self._tail = ""
        return self._extend_code(lines, closing="" if last else None)

    def _extend_code(self, lines: list[str], closing: str | None = None) -> list[Patch]:
        """Append lines to the code. If it ends here, with the line `closing`, highlight it."""
        text = "".join(lines)
        if self._code and len(self._code) + len(text) <= MAX_CODE:
            self._code += text
        else:
            self._code = ""
        if self._code and closing is not None:
            html = blocks(self._code + closing)[0][0]
            self._code = ""
            if "<span" in html:
                return [{"at": self._settled, "html": [html]}]
        return [{"append": text}] if text else []

    def _block_patches(self) -> list[Patch]:
        """Render unsettled blocks, and settle those that another block with a complete line has followed."""
        at, shown = self._settled, blocks(self._tail)
        if not shown:
            return []
        lines = self._tail.split("\n")
        settled = max((number for number, (_, line) in enumerate(shown) if line < len(lines) - 1), default=0)
        self._shown = at + len(shown)
        self._settled += settled
        self._tail = "\n".join(lines[shown[settled][1] :])
        html = [html for html, _ in shown]
        if (opened := self._unclosed_code()) is not None:
            html[-1] = blocks(opened, highlighted=False)[-1][0]
        return [{"at": at, "html": html}]

    def _unclosed_code(self) -> str | None:
        """Return the complete lines of the last block if it is unclosed code, which only grows from here on."""
        found = _OPENED.match(self._tail)
        if found is None or any(is_closing(line, found["fence"]) for line in self._tail[found.end() :].split("\n")):
            return None
        end = self._tail.rindex("\n") + 1
        code, self._tail, self._fence = self._tail[:end], self._tail[end:], found["fence"]
        self._code = code
        return code
