"""Lines of a stream: the same however they arrive, bounded memory, and the ends of a line that was too long."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolgate.adapters.line_buffer import LineBuffer, LineTooLong


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_come_out_however_they_are_cut(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer(1000)

    found = [line for start in range(0, len(stream), size) for line in buffer.feed(stream[start : start + size])]

    assert found == [line for line in lines if line.strip()]


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_both_ends_of_a_line_that_is_too_long_are_kept(size: int) -> None:
    line = b"<" * 300 + b"x" * 5000 + b">" * 300
    stream = line + b"\nnext\n"
    buffer = LineBuffer(1000)

    found = [item for start in range(0, len(stream), size) for item in buffer.feed(stream[start : start + size])]

    assert found == [LineTooLong(size=len(line), limit=1000, start=line[:512], end=line[-512:]), b"next"]


def test_a_line_that_becomes_too_long_with_its_last_byte_has_its_end() -> None:
    buffer = LineBuffer(1000)
    line = b"a" * 999 + b"bc"

    assert list(buffer.feed(line[:1000])) == []
    assert list(buffer.feed(line[1000:] + b"\n")) == [LineTooLong(1001, 1000, line[:512], line[-512:])]


def test_the_last_line_needs_no_line_end() -> None:
    buffer = LineBuffer(1000)

    assert list(buffer.feed(b"one\n\n  \ntwo")) == [b"one"]
    assert list(buffer.finish()) == [b"two"]
    assert list(buffer.finish()) == []


def test_a_line_that_never_ends_takes_no_memory() -> None:
    buffer = LineBuffer(1000)
    for _ in range(10_000):
        assert list(buffer.feed(b"x" * 1000)) == []

    assert sum(map(len, buffer._pieces)) + len(buffer._start) + len(buffer._end) < 4096
