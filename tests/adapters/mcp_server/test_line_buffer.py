"""Lines from a client: the same however they arrive, and bounded."""

import os
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Lines, lines
from toolgate.adapters.mcp_server.line_buffer import LineBuffer, LineTooLong
from toolgate.adapters.mcp_server.lines import error_response


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    return project


async def _is_alive(server: Lines) -> None:
    answer = await server.call("alive", "read_file", path="a.txt")
    assert answer["result"]["isError"] is False


async def test_g07_a_line_that_is_far_too_long_is_let_go_and_answered(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        start = _memory(server.process.pid)
        head = b'{"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "'
        await server.send(head + b"x" * (40 << 20) + b'"}}')
        answer = await server.answer(11)
        assert "at most 16777216 are read" in answer["error"]["message"]
        await _is_alive(server)
        assert _memory(server.process.pid) - start < 64 << 20


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_the_id_of_a_line_that_was_let_go_is_found_at_either_end() -> None:
    cutter = LineBuffer(limit=2000)
    first = b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":"' + b"z" * 5000 + b'"}}'
    last = b'{"method":"x","params":{"y":"' + b"z" * 5000 + b'"},"jsonrpc":"2.0","id":-4}'
    neither = b'{"params":{"id":1,"y":"' + b"z" * 5000 + b'"},"id":5,"jsonrpc":"2.0"}'
    found = cutter.feed(b"\n".join([first, b'{"short": 1}', last, neither, b""]))
    assert [one.id if isinstance(one, LineTooLong) else one for one in found] == ["a", b'{"short": 1}', -4, None]
    assert error_response(found[0]).id == "a"


def test_lines_are_the_same_however_they_arrive() -> None:
    data = b'{"a": 1}\n\n  \n{"b": "' + b"y" * 300 + b'"}\n{"c": 3}'
    whole = LineBuffer(limit=200)
    expected = [type(one) if isinstance(one, LineTooLong) else one for one in [*whole.feed(data), *whole.end()]]
    assert expected == [b'{"a": 1}', LineTooLong, b'{"c": 3}']
    piecemeal = LineBuffer(limit=200)
    got = [one for position in range(len(data)) for one in piecemeal.feed(data[position : position + 1])]
    assert [type(one) if isinstance(one, LineTooLong) else one for one in [*got, *piecemeal.end()]] == expected
