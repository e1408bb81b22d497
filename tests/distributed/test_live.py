"""What a command prints while it runs is seen through any gateway: in order, once, bounded, while it counts."""

import asyncio
import contextlib
import dataclasses
import json
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, Process, cluster, until
from tests.distributed.faults import restart
from tests.distributed.gateways import Client, client, gateway, port_of
from toolgate.sessions.live import read_live
from toolgate.sessions.live_output import MAX_CHARACTERS, OutputChunk, OutputWriter

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

CODING = {"SESSION_CODING_ENABLED": "true"}


@dataclass
class Stage:
    """Workers, gateways, and somebody who watches a session in coding mode at the last of the gateways."""

    machines: Cluster
    workers: list[Process]
    sender: Client
    watcher: Client
    session: str

    async def begin(self, *steps: Any) -> None:
        await self.sender.send("chat.send", session_id=self.session, content=json.dumps(list(steps)))

    def printed(self, stream: str = "stdout") -> str:
        pieces = [f["data"] for f in self.watcher.frames if f["type"] == "tool_output"]
        return "".join(piece["text"] for piece in pieces if piece["stream"] == stream)

    def results(self) -> list[dict[str, Any]]:
        return [f["data"] for f in self.watcher.frames if f["type"] == "tool_result"]

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        await until(condition, what=what, logs=self.machines.logs)

    async def stored(self) -> int:
        """Characters of live output that are in the database."""
        sql = "SELECT COALESCE(SUM(LENGTH(content)), 0) FROM live_output"
        row = await self.machines.db.read(lambda tx: tx.row(sql))
        assert row is not None
        return int(row[0])


@contextlib.asynccontextmanager
async def stage(machines: Cluster, *, workers: int = 1, gateways: int = 1) -> AsyncIterator[Stage]:
    started = [machines.worker(**CODING) for _ in range(workers)]
    doors = [gateway(machines, **CODING) for _ in range(gateways)]
    await machines.ready(*started)
    ports = [await port_of(machines, door) for door in doors]
    async with client(ports[0]) as sender, client(ports[-1]) as watcher:
        made = await sender.answer(await sender.send("session.create", mode="coding"))
        session = made["data"]["session_id"]
        await watcher.answer(await watcher.send("session.subscribe", session_id=session, details=True))
        yield Stage(machines, started, sender, watcher, session)


def bash(command: str) -> list[Any]:
    return [["Bash", {"command": command, "timeout_ms": 200_000}]]


def counting(words: str) -> list[Any]:
    """A command that counts until somebody makes a file `stop`."""
    return bash(f"i=0; until [ -e stop ]; do i=$((i+1)); {words}; sleep 0.2; done")


async def test_it_is_seen_at_another_gateway_before_the_command_ends_in_order_and_once(machines: Cluster) -> None:
    async with stage(machines, gateways=2) as here:
        await here.begin(counting("echo out$i; echo err$i >&2"), bash("echo short"), "done")
        await here.until(lambda: here.printed("stdout").count("\n") > 3, "lines")
        await here.until(lambda: here.printed("stderr").count("\n") > 3, "lines of the other stream")
        assert here.results() == []
        (machines.workspace() / "stop").touch()
        await here.until(lambda: here.watcher.ends, "the end of the turn")
        kinds = [frame["type"] for frame in here.watcher.frames]
        seen = here.watcher.frames[: kinds.index("tool_result")]
        for stream, word in (("stdout", "out"), ("stderr", "err")):
            pieces = [f["data"] for f in seen if f["type"] == "tool_output" and f["data"]["stream"] == stream]
            text = "".join(piece["text"] for piece in pieces)
            assert "".join(f"{word}{n}\n" for n in range(1, 1000)).startswith(text)
            assert {piece["dropped"] for piece in pieces} == {0}
        assert kinds.index("tool_call") < kinds.index("tool_output")
        assert "out4\n" in here.results()[0]["data"]["stdout"]
        assert await here.stored() == 0


async def test_a_flood_is_bounded_and_what_is_left_out_is_counted(machines: Cluster) -> None:
    async with stage(machines) as here:
        await here.begin(bash("echo begin; sleep 0.5; yes 0123456789 | head -c 50000000; sleep 1"), "done")
        peak = 0
        while not here.watcher.ends:
            peak = max(peak, await here.stored())
            await asyncio.sleep(0.02)
        pieces = [f["data"] for f in here.watcher.frames if f["type"] == "tool_output"]
        assert 0 < peak <= 10 * MAX_CHARACTERS
        assert max(len(piece["text"]) for piece in pieces) <= MAX_CHARACTERS
        assert sum(len(piece["text"]) for piece in pieces) < 8_000_000
        assert sum(piece["dropped"] for piece in pieces) > MAX_CHARACTERS
        assert "exit_code" in here.results()[0]["data"]
        assert await here.stored() == 0


@pytest.mark.parametrize("blow", ["killed", "asleep"])
async def test_after_a_worker_is_lost_nothing_is_doubled_or_mixed_into_what_comes_next(
    machines: Cluster, blow: str
) -> None:
    async with stage(machines, workers=2) as here:
        first = "for i in $(seq 1 200); do echo old$i; sleep 0.1; done"
        second = "for i in $(seq 1 10); do echo new$i; sleep 0.2; done"
        await here.begin(bash(first), bash(second), "done")
        await here.until(lambda: "old3\n" in here.printed(), "the first lines")
        victim = await _player(here)
        if blow == "killed":
            await machines.kill(victim)
        else:
            victim.signal(signal.SIGSTOP)
        await here.until(lambda: "new1\n" in here.printed(), "the other worker")
        victim.signal(signal.SIGCONT)  # who was only asleep has something to say that nobody wants to hear any more
        await here.until(lambda: here.watcher.ends, "the end of the turn")
        old, _, new = here.printed().partition("new")
        assert "".join(f"old{n}\n" for n in range(1, 201)).startswith(old)
        assert "".join(f"new{n}\n" for n in range(1, 11)).startswith(f"new{new}")
        assert [result["status"] for result in here.results()] == ["error", "success"]
        await asyncio.sleep(1.0)
        assert await here.stored() == 0


async def _player(here: Stage) -> Process:
    """The worker that plays the turn."""
    sql = "SELECT k.name FROM workers k JOIN dispatches d ON d.worker = k.id WHERE d.state = 'running'"
    row = await here.machines.db.read(lambda tx: tx.row(sql))
    assert row is not None
    return next(worker for worker in here.workers if row[0].endswith(f":{worker.popen.pid}"))


async def test_who_has_lost_the_session_is_not_heard(machines: Cluster) -> None:
    session = await machines.session()
    sessions, db = machines.sessions, machines.db

    async def seen(after: int | None = 0) -> list[OutputChunk]:
        return (await db.read(lambda tx: read_live(tx, session, after))).output

    first = await sessions.try_claim(session, 60)
    assert first is not None
    printer = OutputWriter(first, "turn")
    await db.write(lambda tx: printer.write(tx, [OutputChunk("call0", "stdout", "one", 7)]))
    assert await seen() == [OutputChunk("call0", "stdout", "one", 7)]
    assert await seen(None) == []
    await sessions.release(first)
    await db.write(lambda tx: printer.write(tx, [OutputChunk("call0", "stdout", "too late")]))
    assert await seen() == [OutputChunk("call0", "stdout", "one", 7)]
    second = await sessions.try_claim(session, 60)
    assert second is not None
    assert await seen() == []  # it was written before, but by somebody who has lost the session since
    await db.write(lambda tx: OutputWriter(second, "turn").write(tx, [OutputChunk("call0", "stdout", "two")]))
    await db.write(lambda tx: printer.write(tx, [OutputChunk("call0", "stdout", "too late")]))
    assert await seen() == [OutputChunk("call0", "stdout", "two")]


async def test_a_turn_keeps_little_in_the_table(machines: Cluster) -> None:
    session = await machines.session()
    lease = await machines.sessions.try_claim(session, 60)
    assert lease is not None
    printer = OutputWriter(lease, "turn")
    for _ in range(20):
        noted = await machines.db.write(
            lambda tx: printer.write(tx, [OutputChunk("call0", "stdout", "x" * MAX_CHARACTERS)])
        )
        printer.note(noted)
    row = await machines.db.read(lambda tx: tx.row("SELECT COUNT(*), SUM(LENGTH(content)) FROM live_output"))
    assert row == (8, 8 * MAX_CHARACTERS)


async def test_a_database_that_crashes_loses_live_output_and_nothing_else(own_url: str, tmp_path: Path) -> None:
    patient = dataclasses.replace(OPTIONS, lease=60.0)  # the turn is not to be lost, however slow the machine is
    async with cluster(own_url, tmp_path, patient) as machines, stage(machines) as here:
        await here.begin(counting("echo line$i"), "done")
        await here.until(lambda: "line5\n" in here.printed(), "the first lines")
        await restart(machines.url)
        before = len(here.printed())
        await here.until(lambda: len(here.printed()) > before, "more lines")
        (machines.workspace() / "stop").touch()
        await here.until(lambda: here.watcher.ends, "the end of the turn")
        numbers = [int(line.removeprefix("line")) for line in here.printed().split()]
        assert numbers == sorted(set(numbers))
        said = here.results()[0]["data"]["stdout"].split()
        assert said == [f"line{n}" for n in range(1, len(said) + 1)]
        assert len(said) >= max(numbers)


async def test_who_joins_in_the_middle_sees_what_is_printed_from_then_on(machines: Cluster) -> None:
    async with stage(machines) as here:
        await here.begin(counting("echo line$i"), "done")
        await here.until(lambda: "line5\n" in here.printed(), "the first lines")
        async with client(await port_of(machines, gateway(machines, **CODING))) as joined:
            await joined.answer(await joined.send("session.subscribe", session_id=here.session, details=True))

            def printed() -> str:
                return "".join(f["data"]["text"] for f in joined.frames if f["type"] == "tool_output")

            await here.until(lambda: printed().count("\n") > 3, "lines at the other gateway")
            assert "line1\n" not in printed()
            assert printed() in "".join(f"line{n}\n" for n in range(1, 1000))
            (machines.workspace() / "stop").touch()
            await here.until(lambda: here.watcher.ends, "the end of the turn")
