"""Messages of a client: parsed, or refused with what is wrong."""

import os
from pathlib import Path

import mcp_types as types
import pytest

from tests.adapters.mcp_server.kit import is_alive, lines
from toolgate.adapters.line_buffer import LineBuffer
from toolgate.adapters.mcp_server.lines import error_response, parse_message


def test_a_request_is_parsed() -> None:
    message = parse_message(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}')
    assert isinstance(message, types.JSONRPCRequest)
    assert message.method == "tools/list"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "a line is one JSON object"),
        (b"[]", "not a batch"),
        (b'{"id": 1, "method": "x"}', '"jsonrpc" must be "2.0"'),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 3}', '"method" must be a string'),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"a": 1, "a": 2}}',
            "the key 'a' occurs twice",
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', "half a character"),
    ],
)
def test_what_is_no_message_is_refused_with_the_problem(line: bytes, problem: str) -> None:
    assert parse_message(line) is None
    assert problem in error_response(line).error.message


async def test_g07_a_line_that_is_far_too_long_is_let_go_and_answered(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        start = _memory(server.process.pid)
        head = b'{"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"name": "'
        await server.send(head + b"x" * (40 << 20) + b'"}}')
        answer = await server.answer(11)
        assert "at most 16777216 are read" in answer["error"]["message"]
        await is_alive(server)
        assert _memory(server.process.pid) - start < 64 << 20


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_the_id_of_a_line_that_was_let_go_is_found_at_either_end() -> None:
    cutter = LineBuffer(limit=2000)
    first = b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":"' + b"z" * 5000 + b'"}}'
    last = b'{"method":"x","params":{"y":"' + b"z" * 5000 + b'"},"jsonrpc":"2.0","id":-4}'
    neither = b'{"params":{"id":1,"y":"' + b"z" * 5000 + b'"},"id":5,"jsonrpc":"2.0"}'
    found = cutter.feed(b"\n".join([first, last, neither, b""]))
    assert [error_response(line).id for line in found] == ["a", -4, None]


@pytest.mark.parametrize("version", [b"1.0", b"2.0"])
def test_an_id_with_half_a_character_is_answered_without_it(version: bytes) -> None:
    answer = error_response(b'{"jsonrpc": "' + version + b'", "id": "\\ud800", "method": "ping"}')

    assert answer.id is None
    assert answer.model_dump_json().isascii()
