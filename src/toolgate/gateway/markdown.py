"""Renders Markdown as safe HTML for the page: no raw HTML, only known attributes, and links to the web only."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from toolgate.gateway.highlight import highlight, highlight_diff, language_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

MAX_MARKDOWN = 64 * 1024
"""After this many characters no new block is parsed as Markdown; the rest is shown as plain text."""
_MAX_MARKS = 300
"""Maximum number of markup characters per paragraph that are parsed; the cost of hostile ones is quadratic."""
_MARK = re.compile(r"[\[*_`<&~\\]")
_MAX_DEPTH = 20
"""Maximum nesting of quotes and lists; deeper blocks are shown as plain text."""
_LINK = re.compile(r"(?:https?://[^\s/?#]|mailto:[^\s@]+@)", re.IGNORECASE)
_PICTURE = re.compile(r"data:image/(?P<kind>png|jpeg|gif|webp);base64,(?P<data>[A-Za-z0-9+/]{1,700000}={0,2})")
_SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8", "webp": b"RIFF"}
"""How files of these types begin."""
_TASK = re.compile(r"\[([ xX])\] ")
_OPENING = re.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
"""The opening line of a code block without indentation, which cannot belong to another block."""
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,24}")
_ALIGNMENT_CLASSES = {"text-align:left": "al", "text-align:center": "ac", "text-align:right": "ar"}
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\^_])")


def render(text: str) -> str:
    """Render a whole text as HTML."""
    return "".join(html for html, _ in blocks(plain(text)))


def render_parts(text: str, kind: str, path: str = "") -> list[str] | None:
    """Render Markdown as blocks, or code or a diff as lines; None if plain text is the better answer."""
    text = plain(text)
    if kind == "markdown":
        return [html for html, _ in blocks(text)]
    lines = highlight_diff(text) if kind == "diff" else highlight(text, language_of(path))
    return None if lines is None else list(lines)


def plain(text: str) -> str:
    """Remove terminal sequences, and replace characters that hide or reorder others by their code."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _shown(text)


def _shown(text: str) -> str:
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def blocks(source: str, *, highlighted: bool = True) -> list[tuple[str, int]]:
    """Render each top-level block of a plain text; return the HTML and the line where its source starts."""
    source, rest = MarkdownLimit().split(source)
    lines = source.split("\n")
    tokens = _parser().parse(source)
    found = []
    for first, last in _spans(tokens):
        span = tokens[first].map or [0, len(lines)]
        if max(token.level for token in tokens[first : last + 1]) >= _MAX_DEPTH - 1:
            html = raw("\n".join(lines[span[0] : span[1]]))
        else:
            env = {"highlighted": highlighted}
            # entities such as `&#x202e;` have become characters
            html = _shown(_parser().renderer.render(tokens[first : last + 1], _parser().options, env))
        found.append((html, span[0]))
    return [*found, (raw(rest), len(lines))] if rest else found


class MarkdownLimit:
    """Finds where a text becomes too long: the first line outside of code after `MAX_MARKDOWN` characters."""

    def __init__(self) -> None:
        self._left = MAX_MARKDOWN
        self._line = ""
        """The current, incomplete line."""
        self.fence = ""
        """The opening fence of the code block at the end of the text."""

    def split(self, text: str) -> tuple[str, str]:
        """Split the next piece into the part within the limit and the rest."""
        position = 0
        while position < len(text):
            if self._left <= 0 and not self._line and not self.fence:
                return text[:position], text[position:]
            end = text.find("\n", position) + 1 or len(text)
            self._line += text[position:end]
            self._left -= end - position
            if text[end - 1] == "\n":
                self._ended(self._line[:-1])
                self._line = ""
            position = end
        return text, ""

    def _ended(self, line: str) -> None:
        if self.fence:
            self.fence = "" if is_closing(line, self.fence) else self.fence
        elif opened := _OPENING.match(line):
            self.fence = opened["fence"]


def is_closing(line: str, fence: str) -> bool:
    """Whether a line closes the code block that `fence` opened."""
    inner = line.strip(" \t")
    return inner.startswith(fence) and not inner.strip(fence[0]) and len(line) - len(line.lstrip(" ")) < 4


def raw(source: str) -> str:
    """Return the HTML of a text that is not parsed as Markdown."""
    return f'<pre class="raw" tabindex="0">{escape(source)}</pre>'


def _spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the first and last token of each top-level block."""
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

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_DEPTH})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "reference"])
    parser.validateLink = lambda url: bool(_LINK.match(url) or _PICTURE.match(url))  # type: ignore[method-assign]
    parser.core.ruler.at("inline", _inline)
    parser.core.ruler.after("inline", "tasks", _tasks)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _inline(state: StateCore) -> None:
    """Parse inline markup, except in paragraphs with too many markup characters."""
    from markdown_it.token import Token

    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(_MARK.findall(token.content)) <= _MAX_MARKS:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children.append(Token("text", "", 0, content=token.content))


def _tasks(state: StateCore) -> None:
    """Mark list items that begin with `[ ]` or `[x]`."""
    for item, _, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or inline.type != "inline" or not inline.children:
            continue
        text = inline.children[0]
        found = _TASK.match(text.content) if text.type == "text" else None
        if found is not None:
            text.content = text.content[found.end() :]
            item.meta = {"done": found[1] != " "}


def _item_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    done = tokens[index].meta.get("done")
    if done is None:
        return "<li>"
    name, words = ("task done", "done") if done else ("task", "to do")
    return f'<li class="{name}"><span class="hidden">{words}: </span>'


def _heading(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _env: Any) -> str:
    """Render a heading two levels lower, below the headings of the page."""
    token = tokens[index]
    token.tag = f"h{min(6, int(token.tag[1:]) + 2)}"
    return renderer.renderToken(tokens, index, options, _env)


def _link_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    href = str(tokens[index].attrGet("href") or "")
    if not _LINK.match(href):
        return "<a>"
    address = escape(href)
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer nofollow" title="{address}">'


def _image(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Render an image as a link, unless it is in the text: a message must not make the page load anything."""
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    words = escape(token.content or "image")
    if _is_picture(source):
        return f'<img src="{source}" alt="{words}">'
    if not _LINK.match(source):
        return f"{words} (this is not a picture that can be shown)"
    address = escape(source)
    return f'<a class="image" href="{address}" target="_blank" rel="noopener noreferrer nofollow">{words}</a>'


def _is_picture(source: str) -> bool:
    """Whether a `data:` address contains what it says."""
    found = _PICTURE.fullmatch(source)
    if found is None:
        return False
    try:
        data = base64.b64decode(found["data"], validate=True)
    except binascii.Error:
        return False
    return data.startswith(_SIGNATURES[found["kind"]])


def _fence(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    token = tokens[index]
    language = _LANGUAGE.match(token.info.strip())
    label = f' data-language="{escape(language[0])}"' if language else ""
    lines = highlight(token.content, language_of(language[0])) if language and env["highlighted"] else None
    code = escape(token.content) if lines is None else "\n".join(lines)
    return f'<pre tabindex="0"{label}><code>{code}</code></pre>\n'


def _list_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    start = tokens[index].attrGet("start")
    return f'<ol start="{int(start)}">\n' if isinstance(start, int) else "<ol>\n"


def _cell_open(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    aligned = _ALIGNMENT_CLASSES.get(str(token.attrGet("style") or ""))
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
    "list_item_open": _item_open,
    "ordered_list_open": _list_open,
    "th_open": _cell_open,
    "td_open": _cell_open,
    "table_open": _table_open,
    "table_close": _table_close,
}
