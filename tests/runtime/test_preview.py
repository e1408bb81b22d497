"""Cutting text by lines and bytes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolgate.runtime.preview import Limits, count_bytes, count_lines, cut, head, head_tail, tail

TEXTS = st.text(
    alphabet=st.one_of(st.sampled_from("\n\n\n\r\u2028\u0085\x0b é漢😀"), st.characters(exclude_categories=["Cs"])),
    max_size=400,
)
LIMITS = st.builds(Limits, lines=st.integers(1, 30), bytes=st.integers(1, 600))


def test_a_final_line_break_does_not_begin_another_line() -> None:
    assert [count_lines(text) for text in ("", "a", "a\n", "a\nb", "\n", "\n\n")] == [0, 1, 1, 2, 1, 2]


def test_only_the_line_feed_ends_a_line() -> None:
    assert count_lines("a\r\nb\rc\u2028d\x85e\x0bf\x0cg") == 2


def test_bytes_of_a_part_are_those_of_its_encoding() -> None:
    assert count_bytes("aé漢😀b", 1, 4) == len("é漢😀".encode())


def test_head_keeps_whole_lines_up_to_the_limit() -> None:
    assert head("a\nb\nc\nd", Limits(lines=2, bytes=100)) == "a\nb"


def test_head_within_the_limits_is_the_text() -> None:
    assert head("a\nb", Limits(lines=2, bytes=3)) == "a\nb"


def test_tail_keeps_whole_lines_and_drops_the_final_break() -> None:
    assert tail("a\nb\nc\nd\n", Limits(lines=2, bytes=100)) == "c\nd"


def test_a_cut_inside_a_character_leaves_it_out() -> None:
    assert head("ab😀", Limits(lines=9, bytes=5)) == "ab"
    assert tail("😀ab", Limits(lines=9, bytes=5)) == "ab"


def test_both_ends_are_kept_with_a_marker_between() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 101))
    shown = head_tail(text, Limits(lines=12, bytes=4000))
    assert shown.split("\n") == [
        *(f"line {number}" for number in range(1, 6)),
        "[… 90 lines (715 bytes) from line 6 on are not shown …]",
        *(f"line {number}" for number in range(96, 101)),
    ]


def test_lines_between_that_look_like_errors_are_shown_with_their_numbers() -> None:
    lines = [f"line {number}" for number in range(1, 101)]
    lines[39] = "ValueError: no"
    lines[49] = "0 errors, no failures"
    lines[59] = "npm ERR! code 1"
    shown = head_tail("\n".join(lines), Limits(lines=40, bytes=8000))
    assert [line for line in shown.split("\n") if not line.startswith("line ")] == [
        "[… 64 lines (540 bytes) from line 19 on are not shown; these of them look like errors: …]",
        "40: ValueError: no",
        "60: npm ERR! code 1",
        "[… end of what is not shown …]",
    ]


@pytest.mark.parametrize("word", ["ERR!", "Segmentation fault", "no such file", "TraceBack", "Permission Denied"])
def test_an_error_is_found_between_numbers_whatever_its_case(word: str) -> None:
    numbers = [str(number) for number in range(20_000)]
    numbers[10_000] = f"1: {word} (2)"
    shown = head_tail("\n".join(numbers), Limits(lines=40, bytes=8000))
    assert f"10001: 1: {word} (2)" in shown.split("\n")


def test_a_long_line_that_looks_like_an_error_is_clipped_around_it() -> None:
    text = "\n".join(["start"] * 20 + ["x" * 5000 + " fatal: gone " + "y" * 5000] + ["end"] * 20)
    shown = head_tail(text, Limits(lines=25, bytes=8000))
    assert [len(line) for line in shown.split("\n") if "fatal: gone" in line] == [len("21: …") + 300 + 1]


def test_a_flood_of_errors_is_bounded() -> None:
    shown = head_tail("Error: x\n" * 100_000, Limits(lines=2000, bytes=51_200))
    assert shown.split("\n")[901].startswith("901: Error: x")
    assert len([line for line in shown.split("\n") if ": Error" in line]) == 50


def test_limits_too_small_for_two_ends_keep_the_last_one() -> None:
    assert cut("a\nb\nc", "head_tail", Limits(lines=2, bytes=9999)) == ("tail", "b\nc")


@given(TEXTS, LIMITS)
@example("\r\n", Limits(lines=1, bytes=1))
def test_head_is_the_longest_beginning_that_fits(text: str, limits: Limits) -> None:
    shown = head(text, limits)
    assert text.startswith(shown)
    assert count_lines(shown) <= limits.lines
    assert count_bytes(shown) <= limits.bytes
    longer = text[: len(shown) + 1].removesuffix("\n")
    if len(longer) > len(shown) and not text.startswith("\r\n", len(shown)):  # a line break is not cut in two
        assert count_lines(longer) > limits.lines or count_bytes(longer) > limits.bytes


@given(TEXTS, LIMITS)
@example("a\r\n", Limits(lines=1, bytes=1))
@example("\r\na", Limits(lines=2, bytes=2))
def test_tail_is_the_longest_end_that_fits(text: str, limits: Limits) -> None:
    whole = text.removesuffix("\r\n" if text.endswith("\r\n") else "\n")
    shown = tail(text, limits)
    assert whole.endswith(shown)
    assert shown.count("\n") < limits.lines
    assert count_bytes(shown) <= limits.bytes
    if len(shown) < len(whole) and not whole.endswith("\r\n", 0, len(whole) - len(shown)):
        longer = whole[len(whole) - len(shown) - 1 :]
        assert longer.count("\n") >= limits.lines or count_bytes(longer) > limits.bytes


@given(TEXTS, st.integers(5, 60), st.integers(2000, 4000))
def test_head_tail_stays_within_the_limits(text: str, lines: int, size: int) -> None:
    text = text * 20
    limits = Limits(lines=lines, bytes=size)
    if count_lines(text) <= lines and count_bytes(text) <= size:
        return
    shown = head_tail(text, limits)
    assert shown.count("\n") < limits.lines
    assert count_bytes(shown) <= limits.bytes


LINES = st.lists(st.text(alphabet="ab\ré漢", max_size=6), min_size=1, max_size=40)


@given(LINES, LIMITS, st.booleans())
def test_a_preview_of_crlf_text_has_whole_line_ends_or_none(lines: list[str], limits: Limits, ended: bool) -> None:
    text = "\r\n".join(lines) + ("\r\n" if ended else "")
    first, last = head(text, limits), tail(text, limits)
    end = len(text.removesuffix("\r\n"))

    assert text.startswith(first)
    assert not (first.endswith("\r") and text.startswith("\n", len(first)))
    assert text.endswith(last, 0, end)
    if last.startswith("\n"):
        assert not text.endswith("\r", 0, end - len(last))


def test_crlf_text_is_cut_between_its_lines() -> None:
    text = "".join(f"line {number}\r\n" for number in range(1, 101))

    assert head(text, Limits(lines=2, bytes=100)) == "line 1\r\nline 2"
    assert head(text, Limits(lines=9, bytes=7)) == "line 1"
    assert tail(text, Limits(lines=2, bytes=100)) == "line 99\r\nline 100"
    assert tail(text, Limits(lines=9, bytes=9)) == "line 100"
    assert cut(text, "head_tail", Limits(lines=12, bytes=4000))[1].split("\n") == [
        *(f"line {number}\r" for number in range(1, 5)),
        "line 5",
        "[… 90 lines (804 bytes) from line 6 on are not shown …]",
        *(f"line {number}\r" for number in range(96, 100)),
        "line 100",
    ]


def test_a_carriage_return_that_ends_no_line_is_kept() -> None:
    assert [head("a\rb\r", Limits(lines=1, bytes=size)) for size in (2, 4)] == ["a\r", "a\rb\r"]
