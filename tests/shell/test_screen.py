"""The screen: what a person would see after a program wrote to its terminal."""

import random

import pytest

from toolgate.shell.screen import Screen
from toolgate.shell.screen_parser import ScreenParser


def shown(data: bytes, columns: int = 20, rows: int = 5) -> list[str]:
    screen = Screen(columns, rows)
    ScreenParser(screen).feed(data)
    return screen.lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"one\r\ntwo", ["one", "two", ""]),
        (b"abc\rX", ["Xbc", "", ""]),
        (b"abc\b\bX", ["aXc", "", ""]),
        (b"a\tb", ["a       b", "", ""]),
        (b"abc\x1b[2D\x1b[K", ["a", "", ""]),
        (b"abc\x1b[1;2H\x1b[1K", ["  c", "", ""]),
        (b"a\r\nb\r\nc\x1b[2J", ["", "", ""]),
        (b"\x1b[2;3Hx", ["", "  x", ""]),
        (b"\x1b[31mred\x1b[0m", ["red", "", ""]),
        (b"\x1b]0;a title\x07text", ["text", "", ""]),
        (b"\x1bP+q544e\x1b\\text", ["text", "", ""]),
        (b"a\r\nb\r\nc\r\nd", ["b", "c", "d"]),
        (b"a\r\nb\r\nc\x1b[H\x1bM", ["", "a", "b"]),
        (b"abc\x1b[1G\x1b[2P", ["c", "", ""]),
        (b"abc\x1b[1G\x1b[2@", ["  abc", "", ""]),
        (b"abc\x1b[1G\x1b[4hX", ["Xabc", "", ""]),
        (b"a\r\nb\r\nc\x1b[2H\x1b[L", ["a", "", "b"]),
        (b"a\r\nb\r\nc\x1b[1H\x1b[M", ["b", "c", ""]),
        (b"x\x1b[3b", ["xxxx", "", ""]),
        (b"\x1b(0lqk\x1b(B lqk", ["┌─┐ lqk", "", ""]),
        (b"a\x1b7\x1b[3;3Hb\x1b8c", ["ac", "", "  b"]),
        ("你好e\u0301!".encode(), ["你好e\u0301!", "", ""]),
        (b"\xff\xfe", ["\ufffd\ufffd", "", ""]),
        (b"a\r\nb\r\nc\x1b[1;2r\x1b[2;1H\nX", ["b", "X", "c"]),
    ],
)
def test_what_is_written_is_shown_as_a_terminal_shows_it(data: bytes, lines: list[str]) -> None:
    assert shown(data, 10, 3) == lines


def test_long_lines_wrap_and_a_full_line_does_not_scroll_yet() -> None:
    assert shown(b"abcde", 5, 2) == ["abcde", ""]
    assert shown(b"abcdef", 5, 2) == ["abcde", "f"]
    assert shown(b"\x1b[?7labcdef", 5, 2) == ["abcdf", ""]


def test_a_wide_character_is_never_cut_in_half() -> None:
    assert shown("abcd你".encode(), 5, 2) == ["abcd", "你"]
    assert shown("你\rx".encode(), 5, 2) == ["x", ""]


def test_the_alternate_screen_leaves_the_main_one_as_it_was() -> None:
    screen = Screen(10, 3)
    parser = ScreenParser(screen)
    parser.feed(b"before\x1b[?1049hfull screen")
    assert screen.is_alternate
    parser.feed(b"\x1b[?1049l")

    assert (screen.lines, screen.is_alternate) == (["before", "", ""], False)


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_sequence_may_arrive_in_pieces(cut: int) -> None:
    data = "a\x1b[31mb\x1b]0;t\x07c\x1b[1;5H你".encode()
    screen = Screen(10, 2)
    parser = ScreenParser(screen)
    parser.feed(data[:cut])
    parser.feed(data[cut:])

    assert screen.lines == ["abc 你", ""]


def test_questions_about_the_terminal_are_answered() -> None:
    answers: list[bytes] = []
    parser = ScreenParser(Screen(10, 3), answers.append)
    parser.feed(b"\r\nab\x1b[6n\x1b[5n\x1b[c")

    assert answers == [b"\x1b[2;3R", b"\x1b[0n", b"\x1b[?6c"]


def test_lines_that_leave_the_top_are_kept_up_to_a_limit() -> None:
    screen = Screen(10, 2)
    ScreenParser(screen).feed(b"".join(b"%d\r\n" % number for number in range(3000)))

    assert len(screen.history) == 1000
    assert list(screen.history)[-1] == "2998"


def test_a_smaller_screen_keeps_the_lines_at_the_cursor() -> None:
    screen = Screen(10, 4)
    ScreenParser(screen).feed(b"1\r\n2\r\n3\r\n4")
    screen.resize(5, 2)

    assert (screen.lines, screen.row) == (["3", "4"], 1)
    screen.resize(8, 3)
    assert screen.lines == ["3", "4", ""]


@pytest.mark.parametrize("seed", range(60))
def test_no_bytes_break_the_grid(seed: int) -> None:
    pieces = [
        b"\x1b",
        b"[",
        b"?",
        b";",
        b"1",
        b"99999999",
        b"\x1b[",
        b"1049h",
        b"1049l",
        b"abc",
        "你".encode(),
        b"\xff",
    ]
    pieces += [bytes([byte]) for byte in b"ABCDEFGHJKLMPSTXZ@bcdhlmnrsu78()0]PX^_\\ \r\n\t\b\x07\x0e\x0f\x9b\xcc\x81"]
    choice = random.Random(seed)
    screen = Screen(choice.choice([2, 3, 20, 80]), choice.choice([2, 3, 24]))
    parser = ScreenParser(screen)
    for _ in range(200):
        parser.feed(b"".join(choice.choice(pieces) for _ in range(choice.randint(1, 12))))
        if choice.random() < 0.05:
            screen.resize(choice.choice([2, 7, 80]), choice.choice([2, 7, 30]))
        assert (len(screen.lines), 0 <= screen.row < screen.rows, 0 <= screen.column < screen.columns) == (
            screen.rows,
            True,
            True,
        )
        assert not any(ord(character) < 32 for character in screen.text().replace("\n", ""))
