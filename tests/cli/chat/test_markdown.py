"""Markdown that arrives piece by piece: what is complete is printed once, and nothing is lost."""

import io

import pytest

from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.markdown import MarkdownStream, draw_markdown
from toolgate.cli.visible import visible, without_escapes

TEXT = "# Title\n\nA paragraph\nof two lines.\n\n- one\n- two\n\n```python\nprint(1)\n\nprint(2)\n```\n\nThe end."


@pytest.fixture
def canvas() -> Canvas:
    return Canvas(io.StringIO())


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pieces_of_any_size_print_the_same_as_the_whole(canvas: Canvas, size: int) -> None:
    stream, printed = MarkdownStream(canvas), list[str]()
    for at in range(0, len(TEXT), size):
        stream.feed(TEXT[at : at + size])
        printed += stream.finished()
    printed += stream.close()

    assert [line for line in printed if line.strip()] == [line for line in draw_markdown(canvas, TEXT) if line.strip()]


def test_an_open_block_is_live_and_not_printed(canvas: Canvas) -> None:
    stream = MarkdownStream(canvas)
    stream.feed("First.\n\nSecond,\nnot yet")

    assert len(stream.finished()) == 1
    assert any("not yet" in line for line in stream.live())
    assert stream.finished() == []


def test_html_and_the_target_of_a_link_are_shown(canvas: Canvas) -> None:
    lines = "".join(draw_markdown(canvas, "<b>bold</b> and [here](https://example.com/x)"))

    assert "<b>bold</b>" in lines
    assert "https://example.com/x" in lines


def test_a_huge_block_is_shown_as_it_is(canvas: Canvas) -> None:
    lines = draw_markdown(canvas, "*x* " * 6000)

    assert "*x*" in lines[0]


def test_blank_text_draws_nothing(canvas: Canvas) -> None:
    stream = MarkdownStream(canvas)
    stream.feed(" \n\n ")

    assert (stream.live(), stream.close(), draw_markdown(canvas, "\n\n")) == ([], [], [])


@pytest.mark.parametrize("entity", ["&#x202e;", "&#8238;", "&rlm;", "&ZeroWidthSpace;", "&shy;", "&#xE0041;", "&#x9b;"])
def test_entities_hide_and_reorder_nothing(canvas: Canvas, entity: str) -> None:
    text = f"a {entity} b [c {entity}](https://d.e/{entity}) **{entity}**\n\n# {entity}\n\n```{entity}\n{entity}\n```\n"
    shown = without_escapes("\n".join(draw_markdown(canvas, text)))
    assert shown == visible(shown)
