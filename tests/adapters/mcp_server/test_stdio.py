"""Every way in which a server on stdin and stdout ends: nothing is left."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Sleeper, environment, is_alive, lines, until, words


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
        assert answer["result"]["content"][0]["text"] == "on\n"
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
    assert b'"text":"hi\\n"' in out


async def test_s12_a_command_reads_nothing_of_the_wire_and_writes_nothing_to_it(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        answer = await server.call(1, "Bash", command="cat; echo end; echo aside >&2")
        [block] = answer["result"]["content"]
        assert block["text"].split() == ["end", "[stderr]", "aside"]
        assert server.others == []
        await is_alive(server)
