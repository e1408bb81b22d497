"""Output is counted exactly, kept at both ends, and whole on disk."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.shell.capture import Capture


def capture_of(
    tmp_path: Path, kept: int = 100, stored: int = 10**6, listener: Callable[[str], None] | None = None
) -> Capture:
    path = str(tmp_path / "output")

    def opened() -> tuple[str, int]:
        return path, os.open(path, os.O_CREAT | os.O_WRONLY)

    return Capture(end_bytes=kept, max_stored=stored, opener=opened, listener=listener)


def test_short_output_is_whole_and_makes_no_file(tmp_path: Path) -> None:
    capture = capture_of(tmp_path)
    capture.feed(b"one\ntwo")

    assert (capture.text(), capture.lines, capture.info.truncated, capture.info.output_path) == (
        "one\ntwo",
        2,
        False,
        None,
    )


def test_long_output_keeps_head_and_tail_and_says_what_is_between(tmp_path: Path) -> None:
    capture = capture_of(tmp_path)
    for number in range(1000):
        capture.feed(b"%d\n" % number)
    capture.finish()
    head, mark, tail = capture.text().partition("[...")

    assert head.startswith("0\n1\n2\n")
    assert tail.endswith("998\n999\n")
    gone = 1000 - head.count("\n") - (tail.count("\n") - 1)
    assert f"({gone:,} lines)" in mark + tail
    assert (capture.bytes, capture.lines) == (3890, 1000)
    assert (tmp_path / "output").read_bytes() == b"".join(b"%d\n" % number for number in range(1000))


def test_the_file_has_a_cap(tmp_path: Path) -> None:
    capture = capture_of(tmp_path, stored=500)
    for _ in range(100):
        capture.feed(b"x" * 99)
    capture.finish()

    assert (capture.info.bytes, capture.info.stored_bytes) == (9900, 500)
    assert (tmp_path / "output").stat().st_size == 500


def test_a_character_is_never_cut_in_half(tmp_path: Path) -> None:
    capture = capture_of(tmp_path)
    capture.feed("é中🎉".encode() * 200)

    assert "\ufffd" not in capture.text()


def test_a_viewer_sees_what_comes_and_cannot_break_the_command(tmp_path: Path) -> None:
    seen: list[str] = []

    def listener(text: str) -> None:
        seen.append(text)
        if len(seen) == 2:
            raise RuntimeError("viewer")

    capture = capture_of(tmp_path, listener=listener)
    for chunk in (b"caf\xc3", b"\xa9", b"gone"):
        capture.feed(chunk)

    assert seen == ["caf", "\u00e9"]
    assert capture.text() == "caf\u00e9gone"


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_counts_are_exact_whatever_comes(chunks: list[bytes]) -> None:
    capture = Capture(end_bytes=50, max_stored=0, opener=lambda: ("nowhere", os.open(os.devnull, os.O_WRONLY)))
    for chunk in chunks:
        if chunk:
            capture.feed(chunk)
    capture.finish()
    whole = b"".join(chunks)

    assert capture.bytes == len(whole)
    assert capture.lines == whole.count(b"\n") + (1 if whole and not whole.endswith(b"\n") else 0)
    assert len(capture.text()) <= 4 * 50 + 60


@pytest.mark.parametrize("line", [b"x" * 5, b"x" * 500])
def test_lines_are_counted_both_ways(tmp_path: Path, line: bytes) -> None:
    capture = capture_of(tmp_path)
    capture.feed((line + b"\n") * 100)

    assert capture.lines == 100


def test_a_file_that_takes_only_a_part_of_a_write_has_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = capture_of(tmp_path)
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:7]))
        for number in range(100):
            capture.feed(b"%d\n" % number * 3)
        capture.finish()

    assert (tmp_path / "output").read_bytes() == b"".join(b"%d\n" % number * 3 for number in range(100))
    assert capture.info.stored_bytes == capture.bytes


def test_without_room_for_a_file_the_ends_and_the_counts_are_right(tmp_path: Path) -> None:
    def no_room() -> tuple[str, int]:
        raise OSError(28, "No space left on device")

    capture = Capture(end_bytes=100, max_stored=10**6, opener=no_room)
    for number in range(1000):
        capture.feed(b"%d\n" % number)
    capture.finish()

    assert capture.text().startswith("0\n1\n")
    assert capture.text().endswith("998\n999\n")
    assert (capture.lines, capture.info.truncated, capture.info.output_path) == (1000, True, None)
