"""Markdown for the page: what it becomes, and what it never becomes."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.gateway.markdown import MAX_MARKDOWN, plain, render

ALLOWED = {
    "a": {"href", "target", "rel", "title", "class"},
    "ol": {"start"},
    "pre": {"tabindex", "data-language", "class"},
    "td": {"class"},
    "th": {"class"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "span": {"class"},
    "li": {"class"},
    "img": {"src", "alt"},
} | {tag: set() for tag in "p h3 h4 h5 h6 ul blockquote code em strong s hr br table thead tbody tr".split()}
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</script></style></textarea><svg onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](//evil.example)",
    "[x](https:evil)",
    '[x](https://a.b/" onmouseover="alert(1))',
    "[x](https://a.b/'onclick='alert(1))",
    '[x](https://a.b "t\\" onclick=\\"alert(1)")',
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    '![" onerror="alert(1)](https://a.b/c)',
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](data:image/png;base64,PHNjcmlwdD4=)",
    '![x](data:image/png;base64,iVBORw0KGgo=" onerror=alert(1))',
    "[x](data:image/png;base64,iVBORw0KGgo=)",
    "- [x] <script>alert(1)</script>",
    "```py\n</span></code><script>alert(1)</script>\n```",
    "```html\n<script>alert(1)</script><img onerror=x>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```js onload=alert(1)\n</code></pre><script>\n```",
    "|<img onerror=x>|\n|:-:|\n|</td><script>|",
    "[a]: javascript:alert(1)\n\n[a]",
    "&lt;script&gt; &#60;script&#62;",
    "`</code><script>`",
    "    </pre><script>alert(1)</script>",
]


class Checker(HTMLParser):
    """Notes every tag and attribute that the page does not expect."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One opening tag."""
        for name, value in attrs:
            if name not in ALLOWED.get(tag, set()):
                self.wrong.append(f"{tag} {name}")
            if name == "href" and not re.match(r"(https?://|mailto:)", value or "", re.IGNORECASE):
                self.wrong.append(f"href {value}")
            if name == "src" and not re.match(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$", value or ""):
                self.wrong.append(f"src {value}")
        if tag not in ALLOWED:
            self.wrong.append(tag)

    def handle_decl(self, decl: str) -> None:
        """A declaration."""
        self.wrong.append(decl)

    def handle_comment(self, data: str) -> None:
        """A comment."""
        self.wrong.append(data)

    def handle_pi(self, data: str) -> None:
        """A processing instruction."""
        self.wrong.append(data)

    def handle_data(self, data: str) -> None:
        """Text."""
        self.words.append(data)


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    return checker


@pytest.mark.parametrize("text", HOSTILE)
def test_g14_hostile_markdown_becomes_text(text: str) -> None:
    assert checked(render(text)).wrong == []


_PIECES = st.sampled_from(
    [*HOSTILE, "\n", "\n\n", "- ", "> ", "# ", "```", "`", "*", "|", "[", "](", ")", "<", "&", '"']
)


@settings(deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=8)), max_size=12).map("".join))
def test_whatever_comes_only_our_own_tags_and_attributes_come_out(text: str) -> None:
    assert checked(render(text)).wrong == []


def test_a_whole_message() -> None:
    html = render(
        "# One *two*\n\n- a\n- `b<c`\n\n3) x\n\n```py\nx < 1\n```\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n~~no~~"
    )
    assert html == (
        "<h3>One <em>two</em></h3>\n<ul>\n<li>a</li>\n<li><code>b&lt;c</code></li>\n</ul>\n"
        '<ol start="3">\n<li>x</li>\n</ol>\n'
        '<pre tabindex="0" data-language="py"><code>x &lt; <span class="n">1</span>\n</code></pre>\n'
        '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n<thead>\n<tr>\n'
        '<th class="ac">a</th>\n<th class="ar">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n'
        '<td class="ac">1</td>\n<td class="ar">2</td>\n</tr>\n</tbody>\n</table></div>\n<p><s>no</s></p>\n'
    )


def test_links_lead_to_the_web_and_open_elsewhere() -> None:
    assert render("[a](https://b.c/?d=1&e)") == (
        '<p><a href="https://b.c/?d=1&amp;e" target="_blank" rel="noopener noreferrer nofollow"'
        ' title="https://b.c/?d=1&amp;e">a</a></p>\n'
    )


def test_pictures_are_links_and_nothing_is_fetched() -> None:
    assert "<img" not in render("![a](https://b.c/d.png)")
    assert 'href="https://b.c/d.png"' in render("![a](https://b.c/d.png)")


def test_what_hides_or_reorders_text_is_shown_and_terminal_sequences_are_gone() -> None:
    assert render("a\u202eb\u200b \x1b[31mred\x1b[0m\x1b]0;title\x07\x00") == (
        "<p>a⟨U+202E⟩b⟨U+200B⟩ red⟨U+0000⟩</p>\n"
    )


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_nothing_is_lost_where_it_is_nested_too_deep(mark: str) -> None:
    assert "the very inside" in render(mark * 60 + "the very inside")


def test_a_text_that_is_too_long_for_markdown_is_shown_to_its_end() -> None:
    html = render("a *b*\n\n" + "c\n" * MAX_MARKDOWN + "\n\n*the end*")
    assert "<em>b</em>" in html
    assert "*the end*" in html


@pytest.mark.parametrize("piece", ["[", "*a_ ", "![[", "> "])
@pytest.mark.parametrize("length", [400, MAX_MARKDOWN])
def test_hostile_markdown_takes_about_as_long_as_the_same_amount_of_words(piece: str, length: int) -> None:
    def seconds(source: str) -> float:
        begin = time.thread_time()
        render(source)
        return time.thread_time() - begin

    paragraph = piece * (length // len(piece)) + "\n\n"
    words = min(seconds("some words and *more* of them\n\n" * (MAX_MARKDOWN // 31)) for _ in range(2))
    assert min(seconds(paragraph * (MAX_MARKDOWN // length)) for _ in range(2)) < 20 * words


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_picture_in_the_text_is_shown_and_others_are_links() -> None:
    assert render(f"![a dot](data:image/png;base64,{PNG})") == (
        f'<p><img src="data:image/png;base64,{PNG}" alt="a dot"></p>\n'
    )
    assert render("![a](https://a.b/c.png)") == (
        '<p><a class="image" href="https://a.b/c.png" target="_blank" rel="noopener noreferrer nofollow">a</a></p>\n'
    )


@pytest.mark.parametrize("address", ["data:image/png;base64,PHNjcmlwdD4=", f"data:image/gif;base64,{PNG}"])
def test_what_only_says_that_it_is_a_picture_is_not_shown(address: str) -> None:
    assert render(f"![a dot]({address})") == "<p>a dot (this is not a picture that can be shown)</p>\n"


def test_a_picture_is_never_a_place_to_go_to() -> None:
    assert render(f"[go](data:image/png;base64,{PNG})") == "<p><a>go</a></p>\n"


def test_list_items_can_be_tasks() -> None:
    assert render("- [ ] one\n- [x] *two*\n- [y] three") == (
        '<ul>\n<li class="task"><span class="hidden">to do: </span>one</li>\n'
        '<li class="task done"><span class="hidden">done: </span><em>two</em></li>\n<li>[y] three</li>\n</ul>\n'
    )


@pytest.mark.parametrize(
    "text", ["a {} b", "[a {}](https://b.c/{})", "![{}](https://b.c/d.png)", "| {} |\n|---|\n| {} |"]
)
@pytest.mark.parametrize("entity", ["&#x202e;", "&#8238;", "&rlm;", "&ZeroWidthSpace;", "&shy;", "&#xE0041;"])
def test_entities_hide_and_reorder_nothing_either(text: str, entity: str) -> None:
    shown = render(text.replace("{}", entity))
    assert shown == plain(shown)
    assert entity.strip("&;") in shown or "⟨U+" in shown
