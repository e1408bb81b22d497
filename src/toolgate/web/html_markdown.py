"""HTML as Markdown: what a person would read. It runs in a process that has only the standard library."""

import json
import re
import resource
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

MAX_TEXT = 1 << 20
"""Characters of the result."""
_MEMORY = 1 << 30
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_SKIPPED = frozenset(
    "script style noscript template svg math iframe object canvas nav footer aside select button dialog head".split()
)
_BLOCKS = frozenset(
    "p div section article main header ul ol table tr blockquote pre figure dl dt dd form fieldset details".split()
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_HIDES = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])")
_SPACES = re.compile(r"[ \t\r\n\f\u00a0]+")
_GAPS = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+\n")


class _Full(Exception):
    """The result is long enough."""


class MarkdownWriter(HTMLParser):
    """Reads a page and writes Markdown. It recurses nowhere, however deep the page is nested."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._url = url
        self._out: list[str] = []
        self._size = 0
        self._skipping: list[str] = []
        self._in_title = False
        self._lists: list[int] = []
        self._links: list[str] = []
        self._pre = 0

    @property
    def text(self) -> str:
        """What was written."""
        text = _TRAILING.sub("\n", "".join(self._out))
        return _GAPS.sub("\n\n", text).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if tag == "title" and not self.title:
            self._in_title = True
        if self._skipping or tag in _SKIPPED or _is_hidden(attrs):
            if tag not in _VOID and (self._skipping[:1] == [tag] or not self._skipping):
                self._skipping.append(tag)
            return
        if tag == "br":
            self._write("\n")
        elif tag == "hr":
            self._write("\n\n---\n\n")
        elif tag in _HEADINGS:
            self._write(f"\n\n{_HEADINGS[tag]} ")
        elif tag in _MARKS and not self._pre:
            self._write(_MARKS[tag])
        else:
            self._begin(tag, dict(attrs))

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ul" else 1)
            self._write("\n")
        elif tag == "li":
            depth = max(len(self._lists) - 1, 0)
            number = self._lists[-1] if self._lists else 0
            if number:
                self._lists[-1] += 1
            self._write(f"\n{'  ' * min(depth, 10)}{f'{number}.' if number else '-'} ")
        elif tag == "pre":
            self._pre += 1
            self._write("\n\n```\n")
        elif tag == "code" and not self._pre:
            self._write("`")
        elif tag == "a":
            self._links.append(self._target(attributes.get("href")))
            self._write("[" if self._links[-1] else "")
        elif tag == "img" and attributes.get("alt"):
            self.handle_data(f"(image: {attributes['alt']})")
        elif tag in ("td", "th"):
            self._write("| ")
        elif tag == "blockquote":
            self._write("\n\n> ")
        elif tag in _BLOCKS:
            self._write("\n" if tag in ("tr", "dt", "dd") else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if tag == "title":
            self._in_title = False
        if self._skipping:
            if tag == self._skipping[-1]:
                self._skipping.pop()
            return
        if tag in _HEADINGS or tag in _BLOCKS:
            self._end(tag)
        elif tag in _MARKS and not self._pre:
            self._write(_MARKS[tag])
        elif tag == "code" and not self._pre:
            self._write("`")
        elif tag == "a" and self._links and (target := self._links.pop()):
            self._write(f"]({target})")

    def _end(self, tag: str) -> None:
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
            self._write("\n")
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._write("\n```\n\n")
        elif tag == "tr":
            self._write("|")
        else:
            self._write("\n\n")

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._in_title:
            self.title = (self.title + data)[:300]
        elif not self._skipping:
            text = data if self._pre else _SPACES.sub(" ", data)
            if text == " " and self._out and self._out[-1].endswith(("\n", " ")):
                return
            self._write(text)

    def _write(self, text: str) -> None:
        self._out.append(text[: MAX_TEXT - self._size])
        self._size += len(text)
        if self._size >= MAX_TEXT:
            raise _Full

    def _target(self, href: str | None) -> str:
        if not href or href.startswith("#") or len(href) > 2000:
            return ""
        try:
            target = urljoin(self._url, href.strip())
        except ValueError:
            return ""
        return target.replace(" ", "%20").replace(")", "%29") if target.startswith(("http://", "https://")) else ""


def _is_hidden(attrs: list[tuple[str, str | None]]) -> bool:
    for name, value in attrs:
        if name == "hidden" or (name == "aria-hidden" and value == "true"):
            return True
        if name == "style" and value and _HIDES.search(value.lower()[:2000]):
            return True
    return False


def markdown_of(html: str, url: str) -> tuple[str, str]:
    """The title and the text of a page."""
    writer = MarkdownWriter(url)
    try:
        writer.feed(html)
        writer.close()
    except (_Full, AssertionError):  # the parser gives up on some broken declarations: what came before is shown
        pass
    return " ".join(writer.title.split()), writer.text


def convert_request(request: bytes) -> bytes:
    """Convert a request, HTML and address as JSON, and return title and text as JSON."""
    html, url = json.loads(request)
    return json.dumps(markdown_of(html, url)).encode()


def main() -> None:
    """Run the process: read one request from standard input and write the answer to standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.stdout.buffer.write(convert_request(sys.stdin.buffer.read()))
