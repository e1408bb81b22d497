"""Markdown in the making: what a page shows in the end, and that what is settled stays."""

import re
from html import escape
from itertools import pairwise
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolgate.gateway import markdown
from toolgate.gateway.markdown import MAX_MARKDOWN, blocks, plain
from toolgate.gateway.streaming import Patch, StreamingMarkdown

_LINES = st.sampled_from(
    """
word
*em*
- item
  - sub
1. one
> q
# h
---
===
```
```py
~~~
````
    code
| a | b |
|---|--:|
\t
[a](https://b.c)
`x
\x1b[31mred\x1b[0m
a\r
<b>
\x1b]0;t
""".split("\n")
)
_TEXT = st.lists(st.one_of(_LINES, st.text(max_size=6)), max_size=14).map("\n".join)


class Page:
    """Does with patches what the page does."""

    def __init__(self) -> None:
        self.blocks: list[str] = []

    def apply(self, patch: Patch) -> None:
        if "append" in patch:
            head, mark, end = self.blocks[-1].rpartition("</code>" if "</code>" in self.blocks[-1] else "</pre>")
            self.blocks[-1] = head + escape(str(patch["append"])) + mark + end
            return
        self.blocks[patch["at"] :] = patch["html"]


def _streamed(pieces: list[str]) -> list[str]:
    stream, page = StreamingMarkdown(), Page()
    for piece in pieces:
        stream.feed(piece)
        for patch in stream.patches():
            page.apply(patch)
    for patch in stream.patches(last=True):
        page.apply(patch)
    return page.blocks


def _whole(text: str) -> list[str]:
    return [html for html, _ in blocks(plain(text))]


def _without_last_line_end(shown: list[str]) -> list[str]:
    return [re.sub(r"\s+</code>", "</code>", html) for html in shown]


@settings(deadline=None)
@given(_TEXT, st.lists(st.integers(0, 80), max_size=8))
@example("```\na\nb", [5])
@example("```\n```\n```\nx", [3, 8])
def test_however_it_was_cut_the_page_ends_up_with_the_same(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert _without_last_line_end(_streamed(pieces)) == _without_last_line_end(_whole(text))


@settings(deadline=None)
@given(_TEXT, st.integers(1, 40), st.integers(1, 9))
def test_wherever_it_becomes_too_long(text: str, limit: int, size: int) -> None:
    with mock.patch.object(markdown, "MAX_MARKDOWN", limit):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert _without_last_line_end(_streamed(pieces)) == _without_last_line_end(_whole(text))


@settings(deadline=None)
@given(_TEXT)
@example("- item\n+0")
def test_one_character_at_a_time(text: str) -> None:
    assert _without_last_line_end(_streamed(list(text))) == _without_last_line_end(_whole(text))


def test_a_settled_block_is_not_sent_again() -> None:
    stream = StreamingMarkdown()
    stream.feed("one\n\ntwo\n")
    assert stream.patches() == [{"at": 0, "html": ["<p>one</p>\n", "<p>two</p>\n"]}]
    stream.feed(" and *a")
    assert stream.patches() == [{"at": 1, "html": ["<p>two\nand *a</p>\n"]}]
    stream.feed("*")
    assert stream.patches() == [{"at": 1, "html": ["<p>two\nand <em>a</em></p>\n"]}]


def test_code_grows_by_its_lines() -> None:
    stream = StreamingMarkdown()
    stream.feed("```py\nx = 1\npri")
    assert stream.patches() == [
        {"at": 0, "html": ['<pre tabindex="0" data-language="py"><code>x = 1\n</code></pre>\n']}
    ]
    stream.feed("nt(x)\ny")
    assert stream.patches() == [{"append": "print(x)\n"}]
    stream.feed("\n```\nafter")
    whole = 'x = <span class="n">1</span>\n<span class="b">print</span>(x)\ny\n'
    assert stream.patches() == [
        {"at": 0, "html": [f'<pre tabindex="0" data-language="py"><code>{whole}</code></pre>\n']},
        {"at": 1, "html": ["<p>after</p>\n"]},
    ]
    assert stream.patches(last=True) == [{"at": 1, "html": ["<p>after</p>\n"]}]


def test_what_is_beyond_the_limit_is_added_as_text() -> None:
    text = "*a*\n\n" + "b\n" * (MAX_MARKDOWN // 2)
    shown = _streamed([text, "*c*\n\n<d>", "e"])
    assert shown == _whole(text + "*c*\n\n<d>e")
    assert shown[-1].startswith('<pre class="raw" tabindex="0">')
    assert shown[-1].endswith("*c*\n\n&lt;d&gt;e</pre>")


def test_code_may_be_longer_than_the_limit() -> None:
    text = "```\n" + "x = 1\n" * MAX_MARKDOWN + "```\n\n*after*"
    shown = _streamed([text[at : at + 50_000] for at in range(0, len(text), 50_000)])
    assert shown == _whole(text)
    assert [html[:20] for html in shown] == ['<pre tabindex="0"><c', '<pre class="raw" tab']


def test_a_longer_block_is_sent_less_often() -> None:
    stream = StreamingMarkdown()
    first = stream.pause
    stream.feed("- a\n" * 5_000)
    stream.patches()
    assert first < 0.05 < stream.pause
