"""Databases that are slow, down, older or newer, processes of several revisions beside each other, clocks that jump."""

import asyncio
import dataclasses
import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from tests.distributed.cluster import OPTIONS, ROOT, Cluster, Process, cluster, until
from tests.distributed.faults import proxied, restart
from tests.distributed.gateways import client, gateway, port_of
from tests.distributed.http import get
from toolgate.distributed import queue as turn_queue
from toolgate.sessions.driver import Transaction
from toolgate.sessions.migrate import upgrade
from toolgate.sessions.schema import HEAD, REVISIONS

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

SLOW = 0.05 if os.environ.get("TOOLGATE_TORTURE", "1") == "1" else 0.2
"""Seconds that each packet takes, either way."""
NEXT = f"{int(HEAD) + 1:04}"


async def _revision(machines: Cluster) -> str:
    row = await machines.db.read(lambda tx: tx.row("SELECT version_num FROM alembic_version"))
    assert row is not None
    return str(row[0])


async def test_a_slow_database_makes_turns_slow_and_nothing_else(own_url: str, tmp_path: Path) -> None:
    options = dataclasses.replace(OPTIONS, lease=10.0)
    async with cluster(own_url, tmp_path, options) as machines, proxied(own_url) as (proxy, way):
        worker = machines.worker(TOOLGATE_DATABASE_URL=way)
        await machines.ready(worker)
        proxy.delay = SLOW
        session = await machines.session()
        turn = await machines.begin(session, [["note", {"key": "slowly"}]], "Slowly.")
        ended = await machines.ended(turn.id, patience=220)

        assert (ended.status, ended.attempt) == ("done", 1)
        assert machines.effects() == ["slowly"]
        assert worker.popen.poll() is None


async def test_an_older_database_is_brought_up_to_date_by_whoever_comes_first_and_all_of_them_work(
    own_url: str, tmp_path: Path
) -> None:
    engine = create_async_engine(own_url.replace("postgresql://", "postgresql+asyncpg://"))
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: _older(sync, REVISIONS[-2]))
    await engine.dispose()
    base = {"TOOLGATE_DATABASE_URL": own_url, "TEST_EFFECTS": str(tmp_path)}
    early = [_started(tmp_path, number, base) for number in range(2)]  # before anybody else has looked at it
    async with cluster(own_url, tmp_path) as machines:
        machines.processes += early
        port = await port_of(machines, gateway(machines))
        await machines.ready(*early)
        async with client(port) as one:
            kept = await one.answer(await one.send("session.create"))
            await one.send("chat.send", session_id=kept["data"]["session_id"], content='["Up to date."]')
            await until(lambda: one.ends, what="the end", logs=machines.logs)
        row = await machines.db.read(lambda tx: tx.row("SELECT title FROM sessions WHERE id = 'before'"))

        assert one.text == "Up to date."
        assert await _revision(machines) == HEAD
        assert row == ("From before",)


def _older(connection: Connection, revision: str) -> None:
    upgrade(connection, revision)
    connection.exec_driver_sql(
        "INSERT INTO sessions (id, mode, title, created_at, updated_at) "
        "VALUES ('before', 'chat_safe', 'From before', 1, 1)"
    )


def _started(base: Path, number: int, environment: dict[str, str]) -> Process:
    workspace, log = base / "main", base / f"early{number}.log"
    workspace.mkdir(exist_ok=True)
    with log.open("wb") as output:
        popen = subprocess.Popen(
            [sys.executable, "-m", "tests.distributed.program", f"main={workspace}"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Process(popen, log)


async def test_a_newer_process_changes_the_tables_while_older_ones_work_and_all_turns_end(machines: Cluster) -> None:
    old, door = machines.worker(), gateway(machines)
    port = await port_of(machines, door)
    await machines.ready(old)
    long = await machines.begin(await machines.session(), [["look", {"key": "long", "seconds": 4}]], "Old to the end.")
    await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
    new = machines.worker(TEST_REVISION=NEXT)
    await machines.ready(new)
    changed = await _revision(machines)
    async with client(port) as one:  # an older gateway, on a schema that it does not know
        session = (await one.answer(await one.send("session.create")))["data"]["session_id"]
        await one.send("chat.send", session_id=session, content='["From an old gateway."]')
        await until(lambda: one.ends, what="the end", logs=machines.logs)
    player = await machines.player((await machines.sessions.turns(session))[0].id)
    ended = await machines.ended(long.id)
    late = machines.worker()
    await until(lambda: late.popen.poll() is not None, what="the refusal", logs=machines.logs)
    old.signal(signal.SIGTERM)
    await until(lambda: old.popen.poll() is not None, what="the old one's end", logs=machines.logs)
    adopted = await machines.ended((await machines.begin(await machines.session(), "Adopted.")).id)

    assert changed == NEXT
    assert (ended.status, ended.attempt) == ("done", 1)
    assert one.text == "From an old gateway."
    assert player is old, "a newer worker took it although an older one was there"
    assert late.popen.returncode != 0
    assert "Install a newer Toolgate" in late.output
    assert old.popen.returncode == 0
    assert adopted.status == "done"


async def test_a_gateway_says_that_the_database_is_away_and_goes_on_when_it_is_back(machines: Cluster) -> None:
    async with proxied(machines.url) as (proxy, way):
        worker = machines.worker(TOOLGATE_DATABASE_URL=way)
        port = await port_of(machines, gateway(machines, TOOLGATE_DATABASE_URL=way))
        await machines.ready(worker)
        async with client(port) as one:
            session = (await one.answer(await one.send("session.create")))["data"]["session_id"]
            await one.answer(await one.send("session.subscribe", session_id=session, after_seq=0))
            proxy.cut()
            refused = await one.answer(await one.send("chat.send", session_id=session, content='["Not now."]'))
            ready = await asyncio.to_thread(get, f"http://127.0.0.1:{port}/health/ready")
            live = await asyncio.to_thread(get, f"http://127.0.0.1:{port}/health/live")
            proxy.heal()
            await until(lambda: _sent(port, one, session), what="the database", logs=machines.logs)
            await until(lambda: one.ends, what="the end", logs=machines.logs)

    assert refused["type"] == "error"
    assert "Check that the server runs" in refused["data"]["message"]
    assert (ready[0], live[0]) == (503, 200)
    assert one.text == "Now."
    assert [turn.status for turn in await machines.sessions.turns(session)] == ["done"]


async def _sent(port: int, one, session: str) -> bool:  # type: ignore[no-untyped-def]
    """Send the message, as soon as the gateway is ready."""
    if (await asyncio.to_thread(get, f"http://127.0.0.1:{port}/health/ready"))[0] != 200:
        return False
    before = len(one.frames)
    request = await one.send("chat.send", session_id=session, content='["Now."]')
    await until(lambda: len(one.frames) > before, what="any frame")
    return not any(frame["id"] == request and frame["type"] == "error" for frame in one.frames)


async def test_a_process_that_finds_no_database_at_its_start_says_so_in_one_line(machines: Cluster) -> None:
    address = "postgresql://ada:hunter2@127.0.0.1:1/x"
    role = {"TOOLGATE_DISTRIBUTED_ROLE": "gateway", "TOOLGATE_DATABASE_URL": address}
    door = machines.start(["-m", "toolgate", "serve", "--port", "0", "--no-open"], "gateway", **role)
    status = machines.start(["-m", "toolgate", "status"], "status", TOOLGATE_DATABASE_URL=address)
    for process in (door, status):
        await until(functools.partial(_over, process), what="its end", logs=machines.logs)

    for process in (door, status):
        assert process.popen.returncode not in (0, None)
        assert "Check that the server runs" in process.output
        assert "Traceback" not in process.output
        assert "hunter2" not in process.output


def _over(process: Process) -> bool:
    return process.popen.poll() is not None


@pytest.mark.parametrize("what", ["worker", "serve"])
async def test_without_pgqueuer_it_is_said_what_to_install(machines: Cluster, what: str) -> None:
    words = ["worker", "--workspace", f"main={machines.workspace()}"]
    if what == "serve":
        words = ["serve", "--port", "0", "--no-open", "--root", str(machines.workspace())]
    process = machines.start(
        ["-m", "tests.distributed.serving", *words], what, TEST_WITHOUT="pgqueuer", TOOLGATE_DISTRIBUTED_ROLE="gateway"
    )
    await until(lambda: process.popen.poll() is not None, what="its end", logs=machines.logs)

    assert process.popen.returncode not in (0, None)
    assert "pip install 'toolgate[distributed]'" in process.output
    assert "Traceback" not in process.output


@pytest.mark.parametrize("state", ["queued", "running"])
async def test_a_turn_that_was_open_in_the_queue_of_an_older_release_is_adopted(machines: Cluster, state: str) -> None:
    gone = (
        "INSERT INTO workers (id, name, version, workspaces, slots, state, started_at, seen_at) "
        "VALUES ('old', 'old', '0009.0001', '[\"main\"]', 1, 'gone', 0, EXTRACT(EPOCH FROM clock_timestamp()))"
    )
    await machines.db.write(lambda tx: tx.run(gone))
    turn = await machines.begin(await machines.session(), [["note", {"key": "kept"}]], "Adopted.")

    def as_before(transaction: Transaction) -> None:
        """As a release without this queue leaves it: a row, and no job."""
        row = transaction.row("SELECT job_id FROM dispatches WHERE turn_id = ?1", turn.id)
        assert row is not None
        turn_queue.withdraw(transaction, row[0])
        sql = "UPDATE dispatches SET job_id = NULL, version = '0009.0001', state = ?2, worker = ?3, claimed_at = ?4"
        worker = ("old", 1.0) if state == "running" else (None, None)
        transaction.run(f"{sql} WHERE turn_id = ?1", turn.id, state, *worker)

    await machines.db.write(as_before)
    await machines.ready(machines.worker())
    ended = await machines.ended(turn.id)

    assert (ended.status, ended.attempt) == ("done", 2 if state == "running" else 1)
    assert machines.effects() == ["kept"]


@pytest.mark.parametrize("jump", [90_000, -90_000], ids=["ahead", "back"])
async def test_a_clock_that_jumps_while_a_worker_works_changes_nothing(machines: Cluster, jump: int) -> None:
    worker = machines.worker()
    await machines.ready(worker)
    session = await machines.session()
    turn = await machines.begin(session, [["look", {"key": "a", "seconds": 2}]], [["note", {"key": "b"}]], "Steady.")
    await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
    (machines.base / "effects" / "jumps").write_text(f"{jump}\n")
    ended = await machines.ended(turn.id)
    second = await machines.ended((await machines.begin(session, "And on.")).id)
    events = await machines.events(session)
    calls = await machines.sessions.calls(session)
    listed = await machines.sessions.turns(session)

    assert [(one.status, one.attempt) for one in (ended, second)] == [("done", 1), ("done", 1)]
    assert machines.effects() == ["b"]
    assert [one.id for one in listed] == [turn.id, second.id]
    assert [call.tool_name for call in calls] == ["look", "note"]
    assert [event.created_at for event in events] == sorted(event.created_at for event in events)
    assert json.dumps([event.seq for event in events]) == json.dumps(list(range(1, len(events) + 1)))


async def test_a_restart_of_the_database_in_the_middle_of_a_turn_ends_nothing(machines: Cluster) -> None:
    await machines.ready(machines.worker())
    session = await machines.session()
    turn = await machines.begin(session, [["look", {"key": "a", "seconds": 2}]], [["note", {"key": "b"}]], "Back.")
    await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
    await restart(machines.url, pause=0.3)
    ended = await machines.ended(turn.id)

    assert ended.status == "done"
    assert machines.effects() == ["b"]
