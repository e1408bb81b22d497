"""Markdown to HTML that a page may insert as it is: no raw HTML, no attributes but our own, links to the web only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

LONGEST = 64 * 1024
"""Characters of one text after which no new block is understood as Markdown; the rest is shown as it is written."""
_MOST_MARKS = 300
"""Marks in one paragraph up to which they are looked at: hostile ones cost their square."""
_MARK = re.compile(r"[\[*_`<&~\\]")
_DEEPEST = 20
"""Levels of quotes and lists; a block that is nested deeper is shown as it is written."""
_LINK = re.compile(r"(?:https?://[^\s/?#]|mailto:[^\s@]+@)", re.IGNORECASE)
_OPENING = re.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
"""The first line of code that stands at the margin, where it never belongs to anything else."""
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,24}")
_ALIGNED = {"text-align:left": "al", "text-align:center": "ac", "text-align:right": "ar"}
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\^_])")


def render(text: str) -> str:
    """The HTML of a whole text."""
    return "".join(html for html, _ in blocks(plain(text)))


def plain(text: str) -> str:
    """`text` without terminal sequences, and with every character that hides or reorders others as its number."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def blocks(source: str) -> list[tuple[str, int]]:
    """The HTML of every top-level block of a plain text, each with the line where its source begins."""
    source, rest = Limit().split(source)
    lines = source.split("\n")
    tokens = _parser().parse(source)
    found = []
    for first, last in _spans(tokens):
        span = tokens[first].map or [0, len(lines)]
        if max(token.level for token in tokens[first : last + 1]) >= _DEEPEST - 1:
            html = raw("\n".join(lines[span[0] : span[1]]))
        else:
            html = _parser().renderer.render(tokens[first : last + 1], _parser().options, {})
        found.append((html, span[0]))
    return [*found, (raw(rest), len(lines))] if rest else found


class Limit:
    """Where a text becomes too long: at the first line outside of code after `LONGEST` characters."""

    def __init__(self) -> None:
        self._left = LONGEST
        self._line = ""
        """The line that is not whole yet."""
        self.fence = ""
        """What opened the code that the end of the text is in."""

    def split(self, text: str) -> tuple[str, str]:
        """The part of the next piece that is within the limit, and the rest."""
        place = 0
        while place < len(text):
            if self._left <= 0 and not self._line and not self.fence:
                return text[:place], text[place:]
            end = text.find("\n", place) + 1 or len(text)
            self._line += text[place:end]
            self._left -= end - place
            if text[end - 1] == "\n":
                self._ended(self._line[:-1])
                self._line = ""
            place = end
        return text, ""

    def _ended(self, line: str) -> None:
        if self.fence:
            self.fence = "" if is_closing(line, self.fence) else self.fence
        elif opened := _OPENING.match(line):
            self.fence = opened["fence"]


def is_closing(line: str, fence: str) -> bool:
    """Whether a line ends the code that `fence` opened."""
    inner = line.strip(" \t")
    return inner.startswith(fence) and not inner.strip(fence[0]) and len(line) - len(line.lstrip(" ")) < 4


def raw(source: str) -> str:
    """The HTML of a text that is not understood as Markdown."""
    return f'<pre class="raw" tabindex="0">{escape(source)}</pre>'


def _spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """First and last token of every top-level block."""
    found, depth, start = [], 0, 0
    for index, token in enumerate(tokens):
        if depth == 0:
            start = index
        depth += token.nesting
        if depth == 0:
            found.append((start, index))
    return found


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "reference"])
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    parser.core.ruler.at("inline", _inline)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _inline(state: StateCore) -> None:
    """Markdown's own step, but for a paragraph that is nothing but marks."""
    from markdown_it.token import Token

    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(_MARK.findall(token.content)) <= _MOST_MARKS:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children.append(Token("text", "", 0, content=token.content))


def _heading(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _env: Any) -> str:
    """Headings of a message stand below those of the page."""
    token = tokens[index]
    token.tag = f"h{min(6, int(token.tag[1:]) + 2)}"
    return renderer.renderToken(tokens, index, options, _env)


def _link_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    address = escape(str(tokens[index].attrGet("href") or ""))
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer nofollow" title="{address}">'


def _image(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Nothing is fetched for the sake of a message: a picture is a link to it."""
    token = tokens[index]
    address = escape(str(token.attrGet("src") or ""))
    words = escape(token.content or "image")
    return f'<a class="image" href="{address}" target="_blank" rel="noopener noreferrer nofollow">{words}</a>'


def _fence(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    language = _LANGUAGE.match(token.info.strip())
    label = f' data-language="{escape(language[0])}"' if language else ""
    return f'<pre tabindex="0"{label}><code>{escape(token.content)}</code></pre>\n'


def _list_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    start = tokens[index].attrGet("start")
    return f'<ol start="{int(start)}">\n' if isinstance(start, int) else "<ol>\n"


def _cell_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    aligned = _ALIGNED.get(str(token.attrGet("style") or ""))
    return f'<{token.tag} class="{aligned}">' if aligned else f"<{token.tag}>"


def _table_open(*_: Any) -> str:
    return '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


_RULES = {
    "heading_open": _heading,
    "heading_close": _heading,
    "link_open": _link_open,
    "image": _image,
    "fence": _fence,
    "code_block": _fence,
    "ordered_list_open": _list_open,
    "th_open": _cell_open,
    "td_open": _cell_open,
    "table_open": _table_open,
    "table_close": _table_close,
}
