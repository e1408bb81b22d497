"""Servers that are started as programs: their input, output, environment and end."""

import json
import os
import time
from pathlib import Path

import pytest

from tests.adapters.mcp_client.kit import connected, nasty, runs


async def test_a_server_sees_an_allow_list_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret")
    server = nasty("good") | {"env": {"GIVEN": "${MY_API_KEY}", "MY_TOKEN": "hunter2222"}}

    async with connected(raw=server) as live:
        content = (await live.call("raw__see")).response.data["content"]

    seen = json.loads(content[0]["text"])
    assert seen["GIVEN"] == "secret"
    assert seen["MY_TOKEN"] == "[redacted]"  # it was given, and is not repeated
    assert seen["PATH"] == os.environ["PATH"]
    assert {"MY_API_KEY", "PYTEST_CURRENT_TEST"}.isdisjoint(seen)


async def test_a_banner_on_stdout_does_no_harm() -> None:
    async with connected(raw=nasty("banner")) as live:
        assert not (await live.call("raw__act")).is_error


async def test_garbage_between_messages_is_ignored() -> None:
    async with connected(raw=nasty("garbage")) as live:
        result = await live.call("raw__act")

    assert not result.is_error


async def test_what_a_server_has_started_ends_with_it(tmp_path: Path) -> None:
    """One child in the server's group, one in a session of its own; both ignore TERM."""
    pids = tmp_path / "pids"
    async with connected(raw=nasty("tree", str(pids))) as live:
        assert not (await live.call("raw__act")).is_error
        children = [int(line) for line in pids.read_text().split()]
        assert [runs(pid) for pid in children] == [True, True]

    assert [runs(pid) for pid in children] == [False, False]


async def test_a_server_that_ignores_the_end_of_its_input_is_ended() -> None:
    began = time.monotonic()
    async with connected(raw=nasty("stays")) as live:
        assert live.connection.problem == ""

    assert time.monotonic() - began < 20


async def test_nothing_but_the_protocol_reaches_a_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with connected(raw=nasty("log", str(log))) as live:
        await live.call("raw__act", text="x")

    said = [json.loads(line) for line in log.read_text().splitlines()]
    assert [message["method"] for message in said] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
    ]
    assert said[1]["params"]["capabilities"] == {}
    assert said[-1]["params"]["arguments"] == {"text": "x"}
