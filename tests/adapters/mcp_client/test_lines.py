"""Lines from a server: bounded memory, and what is left of a line that was too long."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolgate.adapters.mcp_client.lines import LineBuffer, LineTooLong


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_come_out_however_they_are_cut(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    parser = LineBuffer(1000)

    found = [line for start in range(0, len(stream), size) for line in parser.feed(stream[start : start + size])]

    assert found == lines


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":42,"result":"' + b"x" * 5000 + b'"}',
        b'{"result":"' + b"x" * 5000 + b'","id": 42 ,"jsonrpc":"2.0"}',
    ],
    ids=["first", "last"],
)
def test_a_line_that_is_too_long_still_says_whose_answer_it_is(line: bytes, size: int) -> None:
    stream = line + b"\nnext\n"
    parser = LineBuffer(1000)

    found = [item for start in range(0, len(stream), size) for item in parser.feed(stream[start : start + size])]

    assert found == [LineTooLong(size=len(line), ids=frozenset({"42"})), b"next"]


def test_a_line_that_never_ends_takes_no_memory() -> None:
    parser = LineBuffer(1000)
    for _ in range(10_000):
        assert list(parser.feed(b"x" * 1000)) == []

    assert sum(map(len, parser._pieces)) + len(parser._start) + len(parser._end) < 4096
