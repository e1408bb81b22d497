"""Another user's session does not exist."""

import asyncio
import statistics
import time
from pathlib import Path

from pydantic import SecretStr

from tests.gateway.kit import (
    PATIENCE,
    Gateway,
    call,
    gateway,
    is_done,
    is_type,
    settings_for,
)
from toolgate.testing import ScriptedModel


async def raw(port: int, head: str, *, body: bytes = b"") -> tuple[int, str]:
    """Send these very bytes and return the status and everything that comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode("latin-1") + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read(65_536)
    writer.close()
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer.decode("latin-1")


async def get(running: Gateway, path: str, **headers: str) -> tuple[int, str]:
    given = {"Host": running.address, "Connection": "close", **headers}
    head = "\n".join([f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())])
    return await raw(running.port, head + "\n\n")


async def test_g10_another_users_session_does_not_exist(tmp_path: Path) -> None:
    tokens = SecretStr("alice:token-of-alice-0123,bob:token-of-bob-4567")
    write = call("write_file", '{"path": "a.txt", "content": "x"}')
    async with (
        gateway(settings_for(tmp_path, tokens=tokens), ScriptedModel([[write], "Done."])) as running,
        running.client("token-of-alice-0123") as alice,
        running.client("token-of-bob-4567") as bob,
    ):
        session = await alice.session("coding")
        await alice.send("chat.send", session_id=session, content="secret plans")
        question = (await alice.until(is_type("approval_request")))[-1]["data"]["id"]
        unknown = "01a1e362-8933-77a8-a04a-f8e9a193796f"
        for method, more in (
            ("chat.send", {"content": "x"}),
            ("chat.history", {}),
            ("chat.cancel", {}),
            ("session.get", {}),
            ("session.rename", {"title": "x"}),
            ("session.subscribe", {}),
        ):
            theirs = await bob.ask(method, session_id=session, **more)
            nobodys = await bob.ask(method, session_id=unknown, **more)
            assert theirs["type"] == "error"
            assert theirs["data"] == nobodys["data"]
        theirs = await bob.ask("approval.respond", id=question, allowed=True)
        nobodys = await bob.ask("approval.respond", id=unknown, allowed=True)
        assert (theirs["type"], theirs["data"]) == ("error", nobodys["data"])
        assert (await bob.data("session.list"))["sessions"] == []
        assert await bob.silent(0.1)
        assert not (tmp_path / "root/a.txt").exists()
        status, _ = await get(running, f"/sessions/{session}/outputs/1", Authorization="Bearer token-of-bob-4567")
        assert status == 404
        await alice.data("approval.respond", id=question, allowed=True)
        await alice.until(is_done)


async def test_g10_and_it_takes_as_long_as_one_that_never_was(tmp_path: Path) -> None:
    tokens = SecretStr("alice:token-of-alice-0123,bob:token-of-bob-4567")
    settings = settings_for(tmp_path, tokens=tokens, max_requests_per_second=100_000)
    async with (
        gateway(settings, ScriptedModel(["Hi."])) as running,
        running.client("token-of-alice-0123") as alice,
        running.client("token-of-bob-4567") as bob,
    ):
        session = await alice.session()
        await alice.turn(session)
        times: dict[str, list[float]] = {session: [], "01a1e362-8933-77a8-a04a-f8e9a193796f": []}
        for _ in range(100):
            for wanted, taken in times.items():
                begun = time.perf_counter()
                await bob.ask("session.get", session_id=wanted)
                taken.append(time.perf_counter() - begun)
        theirs, nobodys = (statistics.median(taken) for taken in times.values())
        assert 0.5 < theirs / nobodys < 2
