"""What the chat draws, piece by piece: Markdown as it streams, live rows, cards."""

import io
import random
from typing import Any

import pytest

from toolgate import ErrorCode, ToolDenied, ToolResponse, ToolResult
from toolgate.cli.chat.canvas import Canvas, width
from toolgate.cli.chat.live_region import LiveRegion
from toolgate.cli.chat.markdown import MarkdownStream, draw_markdown
from toolgate.cli.chat.tool_card import ToolCard, apply_overwrites, clip, describe_call, duration

TEXT = """# A title

A paragraph with **bold**, `code` and a [link](https://example.org).

- one
- two

  still two
- three

1. first
2. second

| a | b |
|---|---|
| 1 | 2 |

```python
def f() -> int:
    return 1


x = f()
```

> quoted

Setext
------

Last <b>words</b>."""


@pytest.fixture
def canvas(monkeypatch: pytest.MonkeyPatch) -> Canvas:
    monkeypatch.setenv("NO_COLOR", "1")
    made = Canvas(io.StringIO())
    sized(monkeypatch, 80)
    return made


def sized(monkeypatch: pytest.MonkeyPatch, columns: int, rows: int = 24) -> None:
    import os

    monkeypatch.setattr("toolgate.cli.chat.canvas._size", lambda: os.terminal_size((columns, rows)))


def plain(lines: list[str]) -> list[str]:
    import re

    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in lines]


@pytest.mark.parametrize("seed", range(6))
def test_however_it_is_cut_streaming_draws_what_the_whole_draws(canvas: Canvas, seed: int) -> None:
    chance = random.Random(seed)
    stream, printed, rest = MarkdownStream(canvas), [], TEXT
    while rest:
        size = chance.randint(1, 30)
        stream.feed(rest[:size])
        rest = rest[size:]
        if chance.random() < 0.7:
            printed += stream.finished()
            stream.live()
    printed += stream.close()

    assert [line for line in plain(printed) if line] == [line for line in plain(draw_markdown(canvas, TEXT)) if line]


def test_blocks_come_out_as_soon_as_they_cannot_change(canvas: Canvas) -> None:
    stream = MarkdownStream(canvas)
    stream.feed("One.\n\nTw")
    assert (plain(stream.finished()), plain(stream.live())) == ([], ["One.", "", "Tw"])
    stream.feed("o.\n")
    assert (plain(stream.finished()), plain(stream.live())) == (["One."], ["", "Two."])
    stream.feed("More of two.\n\nThree")
    assert plain(stream.finished()) == []
    assert plain(stream.close()) == ["", "Two. More of two.", "", "Three"]


def test_raw_html_is_text_and_links_show_where_they_lead(canvas: Canvas) -> None:
    assert plain(draw_markdown(canvas, "<b>x</b> [safe](https://evil.example)")) == [
        "<b>x</b> safe (https://evil.example)"
    ]


def test_a_block_without_end_is_not_parsed_again_and_again(canvas: Canvas) -> None:
    stream = MarkdownStream(canvas)
    for _ in range(40):
        stream.feed("word " * 200 + "\n")
        stream.finished()
    stream.close()

    assert plain(draw_markdown(canvas, "*" * 30_000))[0].startswith("***")


@pytest.mark.parametrize("columns", [20, 33, 80, 200])
def test_no_line_is_wider_than_the_terminal(canvas: Canvas, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    sized(monkeypatch, columns)
    wide = "你好，世界！" * 30
    card = ToolCard(number=1, name="Bash", arguments={"command": f"echo {wide}"}, began=0.0, result=result(stdout=wide))
    lines = [
        *draw_markdown(canvas, f"{TEXT}\n\n{wide}"),
        *card.lines(canvas),
        *card.live(canvas, "⠋", 1.0),
        *card.whole(canvas),
    ]

    assert max(width(line) for line in lines) < columns


def test_live_rows_are_replaced_and_nothing_of_them_stays(canvas: Canvas) -> None:
    out = io.StringIO()
    region = LiveRegion(out, canvas)

    region.show(["live one", "live two"])
    region.print(["for good"], ["live three"])
    region.clear()

    assert screen(out.getvalue()) == ["for good", ""]


def test_live_rows_that_a_narrower_terminal_has_wrapped_are_erased(
    canvas: Canvas, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    region = LiveRegion(out, canvas)
    region.show(["x" * 70, "y"])
    sized(monkeypatch, 30)

    region.show(["z"])

    assert "\x1b[3A" in out.getvalue(), "70 columns are three rows of 30, and one more"


def test_more_live_rows_than_the_terminal_has_are_cut_at_the_top(
    canvas: Canvas, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized(monkeypatch, 80, 10)
    out = io.StringIO()

    LiveRegion(out, canvas).show([str(number) for number in range(100)])

    assert screen(out.getvalue()) == [str(number) for number in range(91, 100)]


def screen(written: str) -> list[str]:
    """What a terminal would show after this."""
    import re

    rows, row = [""], 0
    for token in re.findall(r"\x1b\[\??[0-9;]*[A-Za-z]|\n|\r|[^\x1b\n\r]+", written):
        if token == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif token.endswith("A") and token.startswith("\x1b"):
            row -= int(token[2:-1])
        elif token == "\x1b[J":
            rows = [*rows[:row], ""]
        elif not token.startswith(("\x1b", "\r")):
            rows[row] += token
    return rows


def result(**data: Any) -> ToolResult:
    given = {"stdout": "", "stderr": "", "exit_code": 0, "truncated": False, **data}
    response = ToolResponse.success(given, "Exit code 0.", stats={"time_ms": 12.0})
    return ToolResult(
        tool_call_id="1", is_error=False, output=given["stdout"], message="", extras={}, response=response
    )


def failure(code: ErrorCode, message: str) -> ToolResult:
    response = ToolResponse.failure(code, message, stats={"time_ms": 3.0})
    return ToolResult(tool_call_id="1", is_error=True, output=message, message=message, extras={}, response=response)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"command": "ls -l\nrm x"}, "ls -l ⏎ rm x"),
        ({"path": "a.py", "start_line": 3}, "a.py"),
        ({"pattern": "TODO", "path": "src"}, "TODO in src"),
        ({"agent": "explore", "prompt": "find it", "description": "look"}, "explore: look"),
        ({"items": [1, 2]}, "2 items"),
        ({"odd": 1}, "odd=1"),
        ({}, ""),
        ('{"broken', '{"broken'),
        ({"command": "echo \x1b[2J\u202e"}, "echo \\x1b[2J\\u202e"),
    ],
)
def test_the_telling_argument(arguments: Any, words: str) -> None:
    assert describe_call(arguments) == words


def test_a_card_says_how_it_ended(canvas: Canvas) -> None:
    def head(**how: Any) -> str:
        card = ToolCard(number=3, name="Bash", arguments={"command": "ls"}, began=0.0, **how)
        return plain(card.lines(canvas))[0]

    assert head(result=result()) == "✓ Bash ls  exit 0 · 12 ms · #3"
    assert head(result=result(exit_code=2)) == "✗ Bash ls  exit 2 · 12 ms · #3"
    assert head(result=failure(ErrorCode.NOT_FOUND, "gone")) == "✗ Bash ls  NOT_FOUND · 3 ms · #3"
    assert head(result=failure(ErrorCode.APPROVAL_DENIED, "no")) == "⊘ Bash ls  APPROVAL_DENIED · 3 ms · #3"
    assert head(result=failure(ErrorCode.CANCELLED, "off")) == "◌ Bash ls  cancelled · 3 ms · #3"


def test_a_denial_by_the_mode_says_what_to_do(canvas: Canvas) -> None:
    denied = ToolDenied(
        tool_name="Bash",
        call_id="1",
        mode="chat_safe",
        error_code="MODE_DENIED",
        message="Not here.",
        next_action="Go on.",
    )
    card = ToolCard(number=1, name="Bash", arguments={"command": "ls"}, began=0.0, denied=denied)

    assert plain(card.lines(canvas)) == ["⊘ Bash ls", "  Not here. Go on."]


def test_a_card_shows_the_last_lines_and_how_to_see_the_rest(canvas: Canvas) -> None:
    card = ToolCard(number=7, name="Bash", arguments={"command": "seq 9"}, began=0.0)
    card.result = result(stdout="".join(f"{number}\n" for number in range(1, 10)))

    assert plain(card.lines(canvas))[1:] == ["  │ … 4 earlier lines · /show 7", *(f"  │ {n}" for n in range(5, 10))]
    assert plain(card.whole(canvas))[-9:] == [f"  {number}" for number in range(1, 10)]


def test_what_overwrites_its_line_is_shown_as_a_terminal_leaves_it() -> None:
    assert apply_overwrites("10%\r50%\r100%\ndone\r\n\x1b[32mgreen\x1b[0m\x07") == "100%\ndone\ngreen\\x07"


def test_times_are_short() -> None:
    assert [duration(seconds) for seconds in (0.0004, 0.25, 3.21, 75)] == ["0 ms", "250 ms", "3.2 s", "1 min 15 s"]


def test_a_long_head_is_cut_before_its_ending() -> None:
    assert clip([("x", "red"), "y" * 50], 10) == [("x", "red"), "y" * 8 + "…"]
