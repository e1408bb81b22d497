"""What a person would have seen."""

import pytest

from toolgate.text.terminal import decode_output, reduce


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("long line\rxx\n", "xxng line\n"),
        ("long line\r\x1b[2Kxx\n", "xx\n"),
        ("long line\r\x1b[Kxx\n", "xx\n"),
        ("long line\rxx\x1b[K\n", "xx\n"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("abc\b\bX\n", "aXc\n"),
        ("bell\x07\n", "bell\n"),
        ("nul\x00\n", "nul\ufffd\n"),
        ("half an escape \x1b", "half an escape "),
        ("half an escape \x1b[31", "half an escape "),
        ("\x9b31mred", "red"),
        ("\u4e2d\u6587\r\u56fd\n", "\u56fd\u6587\n"),
    ],
)
def test_terminal_output_is_reduced(printed: str, seen: str) -> None:
    assert reduce(printed) == seen


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert decode_output(b"a\xffb\xe4\xb8") == "a\ufffdb\ufffd"


def test_control_characters_of_the_second_set_are_found_in_their_encoding() -> None:
    assert decode_output("caf\u00e9 \u00a9 \u0085".encode()) == "caf\u00e9 \u00a9 \ufffd"
