"""Messages of a client: parsed, or refused with what is wrong."""

import mcp_types as types
import pytest

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
    ],
)
def test_what_is_no_message_is_refused_with_the_problem(line: bytes, problem: str) -> None:
    assert parse_message(line) is None
    assert problem in error_response(line).error.message
