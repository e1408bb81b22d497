"""Streamable HTTP: the token, the names, sessions, and clients that go away."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.adapters.mcp_server.kit import (
    ERAS,
    TOKEN,
    Sleeper,
    answering,
    code,
    serving_http,
    text,
)
from toolgate.adapters.mcp_server import Clients, http_app
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import builtin_registry
from toolgate.workspace import Workspace

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


async def test_both_eras_list_call_and_ask_over_http(root: Path) -> None:
    async with serving_http(root) as server:
        for era in ERAS:
            seen: list[str] = []
            async with server.client(era=era, elicitation_callback=answering(seen=seen)) as connected:
                assert "Bash" in [tool.name for tool in (await connected.list_tools()).tools]
                written = await connected.call_tool("write_file", {"path": f"{era}.txt", "content": "x"})
                assert not written.is_error, text(written)
                assert len(seen) == 1
                told: list[str | None] = []

                async def progress(progress: float, total: float | None, message: str | None) -> None:
                    told.append(message)  # noqa: B023 - used in this turn of the loop only

                command = "echo 1; sleep 0.3; echo 2"
                await connected.call_tool("Bash", {"command": command}, progress_callback=progress)
                assert told == ["1\n", "2\n"]
            assert (root / f"{era}.txt").read_text() == "x"


@pytest.mark.parametrize("era", ERAS)
async def test_g13_a_client_that_goes_away_in_mid_call_leaves_no_process(root: Path, era: str) -> None:
    sleeper = Sleeper()
    async with serving_http(root) as server:
        async with server.client(era=era) as connected:
            calling = asyncio.create_task(connected.call_tool("Bash", {"command": sleeper.command}))
            await sleeper.begun()
            calling.cancel()
            await asyncio.wait([calling])
            await sleeper.gone()
        raw = httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}", **JSON}, timeout=30)
        await _hang_up(raw, server.url, sleeper)
        await sleeper.gone()
        async with server.client(era=era) as connected:
            assert text(await connected.call_tool("Bash", {"command": "echo on"})) == "on\n"
        server.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(server.process.wait(), 30) == 0
        assert "Traceback" not in await server.rest_of_stderr()


async def _hang_up(http: httpx2.AsyncClient, url: str, sleeper: Sleeper) -> None:
    """A session whose client cuts the connection in the middle of a call."""
    begun = await http.post(url, json=INITIALIZE)
    session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    params = {"name": "Bash", "arguments": {"command": sleeper.command}}
    request = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    async with http.stream("POST", url, json=request, headers=session):
        await sleeper.begun()
    await http.aclose()


async def test_sigterm_in_mid_call_leaves_nothing(root: Path) -> None:
    sleeper = Sleeper()
    async with serving_http(root) as server:
        with contextlib.suppress(Exception):  # the call fails, one way or another
            async with server.client() as connected:
                calling = asyncio.create_task(connected.call_tool("Bash", {"command": sleeper.command}))
                await sleeper.begun()
                server.process.send_signal(signal.SIGTERM)
                assert await asyncio.wait_for(server.process.wait(), 30) == 0
                calling.cancel()
        assert server.process.returncode == 0
        assert sleeper.processes() == []


@pytest.fixture
async def door(root: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """The application itself, at port 8766, without a socket."""
    clients = Clients(builtin_registry(), ToolMode.coding, Workspace(root))
    app = http_app(clients, token=TOKEN, port=8766, allowed_hosts=["tools.example", "box:99"])
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8766", headers=JSON
    ) as http:
        yield http


async def _status(http: httpx2.AsyncClient, path: str = "/nowhere", **headers: str) -> int:
    """What the door says: 404 is what lies behind it."""
    return (await http.post(path, json=INITIALIZE, headers=headers)).status_code


async def test_g01_only_the_token_opens(door: httpx2.AsyncClient) -> None:
    good = f"Bearer {TOKEN}"
    assert await _status(door, authorization=good) == 404
    assert await _status(door, authorization=f"bearer {TOKEN}") == 404
    for bad in ("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN):
        assert await _status(door, authorization=bad) == 401, bad
    assert await _status(door) == 401
    assert await _status(door, path=f"/mcp?token={TOKEN}") == 401
    twice = await door.post("/x", headers=[("authorization", good), ("authorization", good)])
    assert twice.status_code == 401
    assert twice.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((host, 404) for host in ("127.0.0.1:8766", "localhost:8766", "LOCALHOST:8766", "[::1]:8766")),
        *((host, 404) for host in ("tools.example", "tools.example:8766", "box:99")),
        *(
            (host, 421)
            for host in ("evil.com:8766", "127.0.0.1", "127.0.0.1:80", "localhost:87660", "localhost.evil:8766")
        ),
        *((host, 421) for host in ("", "box", "tools.example:99", "127.0.0.1:8766.evil.com", "user@127.0.0.1:8766")),
    ],
)
async def test_g03_only_its_own_names_are_answered(door: httpx2.AsyncClient, host: str, status: int) -> None:
    assert await _status(door, host=host, authorization=f"Bearer {TOKEN}") == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8766", 404),
        ("http://localhost:8766", 404),
        ("https://tools.example", 404),
        *((origin, 403) for origin in ("http://evil.com", "null", "", "http://127.0.0.1", "http://127.0.0.1:87")),
        *((origin, 403) for origin in ("http://localhost:8766.evil.com", "file://", "http://localhost:8766/")),
    ],
)
async def test_g02_only_its_own_pages_may_ask(door: httpx2.AsyncClient, origin: str, status: int) -> None:
    assert await _status(door, origin=origin, authorization=f"Bearer {TOKEN}") == status


async def test_g07_a_body_that_is_too_large_is_refused(root: Path) -> None:
    async with serving_http(root) as server, httpx2.AsyncClient(timeout=30) as http:
        headers = {"authorization": f"Bearer {TOKEN}", **JSON}
        large = await http.post(server.url, content=b"x" * (5 << 20), headers=headers)
        assert large.status_code == 413
        broken = await http.post(server.url, content=b"{", headers=headers)
        assert broken.status_code == 400
        twice = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls","arguments":{"path":"a","path":"b"}}}'
        )
        doubled = await http.post(server.url, content=twice, headers=headers)
        assert (doubled.status_code, doubled.text) == (400, "The key 'path' occurs twice.")
        async with server.client() as connected:
            huge = await connected.call_tool("read_file", {"path": "x" * (1 << 20)})
            assert code(huge) == "INVALID_PARAM"
            assert len(huge.model_dump_json()) < 1 << 16


def test_a_door_without_a_token_is_not_built(root: Path) -> None:
    clients = Clients(builtin_registry(), ToolMode.coding, Workspace(root))
    with pytest.raises(ValueError, match="token"):
        http_app(clients, token="", port=8766)
