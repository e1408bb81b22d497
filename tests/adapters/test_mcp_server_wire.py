"""Stdin and stdout: what cannot be read, what is taken back, and every way to end."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp_kit import Lines, Sleeper, environment, lines, until, words
from toolgate.adapters.mcp_server.lines import Lines as Cutter
from toolgate.adapters.mcp_server.lines import LineTooLong, refusal


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
        await _is_alive(server)


async def test_e02_e03_arguments_that_are_not_strict_json_are_refused(root: Path) -> None:
    call = '{"jsonrpc": "2.0", "id": "%s", "method": "tools/call", "params": {"name": "read_file", "arguments": %s}}'
    async with lines(root) as server:
        await server.begin()
        await server.send((call % ("twice", '{"path": "a.txt", "path": "../b"}')).encode())
        doubled = await server.answer("twice")
        assert doubled["error"] == {"code": -32602, "message": "Invalid parameters: the key 'path' stands twice."}
        for name, arguments in {"nan": '{"path": "a.txt", "limit": NaN}', "huge": '{"limit": 1e999}'}.items():
            await server.send((call % (name, arguments)).encode())
            answer = await server.receive()
            refused = answer.get("error") or answer["result"]["structuredContent"]["error"]
            assert refused["code"] in (-32700, -32600, "INVALID_PARAM"), answer
        await server.send((call % ("deep", '{"path": ' + "[" * 5000 + "]" * 5000 + "}")).encode())
        assert "error" in await server.receive()
        await _is_alive(server)


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
        await _is_alive(server)


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
        await _is_alive(server)


async def test_a_request_before_the_handshake_is_refused(root: Path) -> None:
    async with lines(root) as server:
        answer = await server.ask(1, "tools/call", name="read_file", arguments={"path": "a.txt"})
        assert "error" in answer
        await server.begin()
        await _is_alive(server)


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
    cutter = Cutter(longest=2000)
    first = b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":"' + b"z" * 5000 + b'"}}'
    last = b'{"method":"x","params":{"y":"' + b"z" * 5000 + b'"},"jsonrpc":"2.0","id":-4}'
    neither = b'{"params":{"id":1,"y":"' + b"z" * 5000 + b'"},"id":5,"jsonrpc":"2.0"}'
    found = cutter.feed(b"\n".join([first, b'{"short": 1}', last, neither, b""]))
    assert [one.id if isinstance(one, LineTooLong) else one for one in found] == ["a", b'{"short": 1}', -4, None]
    assert refusal(found[0]).id == "a"


def test_lines_are_the_same_however_they_arrive() -> None:
    data = b'{"a": 1}\n\n  \n{"b": "' + b"y" * 300 + b'"}\n{"c": 3}'
    whole = Cutter(longest=200)
    expected = [type(one) if isinstance(one, LineTooLong) else one for one in [*whole.feed(data), *whole.end()]]
    assert expected == [b'{"a": 1}', LineTooLong, b'{"c": 3}']
    piecemeal = Cutter(longest=200)
    got = [one for position in range(len(data)) for one in piecemeal.feed(data[position : position + 1])]
    assert [type(one) if isinstance(one, LineTooLong) else one for one in [*got, *piecemeal.end()]] == expected


async def test_s14_a_cancelled_call_ends_its_process_tree_and_is_not_answered(root: Path) -> None:
    sleeper = Sleeper()
    async with lines(root) as server:
        await server.begin()
        params = {"name": "Bash", "arguments": {"command": sleeper.command}}
        await server.send({"id": 5, "method": "tools/call", "params": params})
        await sleeper.begun()
        await server.send({"method": "notifications/cancelled", "params": {"requestId": 5}})
        await sleeper.gone()
        answer = await server.call(6, "Bash", command="echo on")
        assert answer["result"]["structuredContent"]["data"]["stdout"] == "on\n"
        assert [message for message in server.others if message.get("id") == 5] == []


@pytest.mark.parametrize("how", ["stdin closed", "both closed", "SIGTERM"])
async def test_g13_whichever_way_the_client_goes_nothing_is_left(root: Path, how: str) -> None:
    sleeper = Sleeper()
    async with lines(root) as server:
        await server.begin()
        params = {"name": "Bash", "arguments": {"command": sleeper.command}}
        await server.send({"id": 5, "method": "tools/call", "params": params})
        await sleeper.begun()
        assert server.process.stdin is not None
        if how == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
        else:
            server.process.stdin.close()
        if how == "both closed":
            server.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        assert await server.ended() == 0
        assert sleeper.processes() == []
        assert server.process.stderr is not None
        assert (await server.process.stderr.read()).decode() == ""


async def test_a_client_that_is_killed_leaves_nothing(root: Path) -> None:
    """The server's own parent dies without a word."""
    sleeper = Sleeper()
    script = (
        "import subprocess, sys, json, time\n"
        "server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "def send(**message):\n"
        "    server.stdin.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\\n')\n"
        "    server.stdin.flush()\n"
        "send(id=1, method='initialize', params={'protocolVersion': '2025-11-25', 'capabilities': {},\n"
        "     'clientInfo': {'name': 'x', 'version': '1'}})\n"
        "send(method='notifications/initialized')\n"
        "send(id=2, method='tools/call', params={'name': 'Bash', 'arguments': {'command': sys.argv[1]}})\n"
        "print(server.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    client = await asyncio.create_subprocess_exec(
        *(words(root)[0], "-c", script, sleeper.command, *words(root)),
        stdout=asyncio.subprocess.PIPE,
        env=environment(root.parent / "home"),
    )
    assert client.stdout is not None
    server = int(await client.stdout.readline())
    await sleeper.begun()
    client.kill()
    await client.wait()
    await sleeper.gone()
    await until(lambda: not _runs(server))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_requests_that_are_piped_in_are_all_answered(root: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *words(root),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment(root.parent / "home"),
    )
    begin = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        b'"clientInfo":{"name":"x","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    )
    call = (
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Bash",'
        b'"arguments":{"command":"sleep 0.2; echo hi"}}}'  # and no line end
    )
    out, _ = await process.communicate(begin + call)
    assert process.returncode == 0
    assert out.count(b"\n") == 2
    assert b'"stdout":"hi\\n"' in out


async def test_s12_a_command_reads_nothing_of_the_wire_and_writes_nothing_to_it(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        answer = await server.call(1, "Bash", command="cat; echo end; echo aside >&2")
        data = answer["result"]["structuredContent"]["data"]
        assert (data["stdout"], data["stderr"]) == ("end\n", "aside\n")
        assert server.others == []
        await _is_alive(server)
