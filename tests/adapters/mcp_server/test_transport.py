"""Messages on stdin and stdout: what cannot be read is answered, and the server goes on."""

import asyncio
from pathlib import Path
from typing import Any

from tests.adapters.mcp_server.kit import is_alive, lines


async def test_g09_what_is_no_message_is_answered_and_the_server_goes_on(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        bad: dict[bytes, tuple[Any, int]] = {
            b"{": (None, -32700),
            b"\xff\xfe": (None, -32700),
            b"[" * 100_000: (None, -32700),
            b"[]": (None, -32600),
            b"3": (None, -32600),
            b'{"id": 7, "method": "tools/list"}': (7, -32600),
            b'{"jsonrpc": "2.0", "id": 8}': (8, -32600),
            b'{"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": [1]}': (9, -32600),
            b'{"jsonrpc": "2.0", "id": true, "method": "tools/list"}': (None, -32600),
        }
        for line, (request_id, code) in bad.items():
            await server.send(line)
            answer = await server.receive()
            assert (answer["id"], answer["error"]["code"]) == (request_id, code), line[:80]
        await server.send(b"   ")
        await is_alive(server)


async def test_e02_e03_arguments_that_are_not_strict_json_are_refused(root: Path) -> None:
    call = '{"jsonrpc": "2.0", "id": "%s", "method": "tools/call", "params": {"name": "read_file", "arguments": %s}}'
    async with lines(root) as server:
        await server.begin()
        await server.send((call % ("twice", '{"path": "a.txt", "path": "../b"}')).encode())
        doubled = await server.answer("twice")
        assert doubled["error"] == {"code": -32602, "message": "Invalid parameters: the key 'path' occurs twice."}
        for name, arguments in {"nan": '{"path": "a.txt", "limit": NaN}', "huge": '{"limit": 1e999}'}.items():
            await server.send((call % (name, arguments)).encode())
            answer = await server.receive()
            given = answer.get("result", {}).get("_meta", {}).get("toolgate/outcome", {}).get("error_code")
            assert (given or answer["error"]["code"]) in (-32700, -32600, "INVALID_PARAM"), answer
        await server.send((call % ("deep", '{"path": ' + "[" * 5000 + "]" * 5000 + "}")).encode())
        assert "error" in await server.receive()
        await is_alive(server)


async def test_g08_a_client_that_does_not_read_gets_whole_lines_later(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        await server.ask("level", "logging/setLevel", level="debug")
        for number in range(3):
            arguments = {"command": "yes 0123456789 | head -c 300000; sleep 0.2"}
            params = {"name": "Bash", "arguments": arguments, "_meta": {"progressToken": number}}
            await server.send({"id": number, "method": "tools/call", "params": params})
        await asyncio.sleep(1)
        await server.send({"method": "notifications/cancelled", "params": {"requestId": 2}})
        done = {(await server.answer(number))["id"] for number in (0, 1)}  # every line is parsed
        assert done == {0, 1}
        await is_alive(server)


MALFORMED: list[tuple[str, dict[str, Any], int]] = [
    ("no/such", {}, -32601),
    ("prompts/list", {}, -32601),
    ("tools/call", {}, -32602),
    ("tools/call", {"name": "read_file", "arguments": [1]}, -32602),
    ("tools/call", {"name": 3}, -32602),
    ("logging/setLevel", {"level": "loud"}, -32602),
]


async def test_a_request_that_is_malformed_gets_an_error_with_its_id(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        for method, params, code in MALFORMED:
            answer = await server.ask("x", method, **params)
            assert answer["error"]["code"] == code, (method, params)
        await is_alive(server)


async def test_a_request_before_the_handshake_is_refused(root: Path) -> None:
    async with lines(root) as server:
        answer = await server.ask(1, "tools/call", name="read_file", arguments={"path": "a.txt"})
        assert "error" in answer
        await server.begin()
        await is_alive(server)
