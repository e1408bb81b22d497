"""Running it: workers come and go, versions follow each other, the database has bad days, and people look at it."""

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.distributed.cluster import ROOT, Cluster, until
from tests.distributed.faults import proxied, restart
from tests.distributed.gateways import TOKEN, gateway, port_of
from toolgate.distributed import names, runner
from toolgate.distributed.options import ClusterOptions
from toolgate.distributed.runner import DurableRunner
from toolgate.errors import StoreError
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings, Settings

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


async def test_a_worker_that_is_told_to_end_finishes_what_it_can_and_hands_over_the_rest(machines: Cluster) -> None:
    patient, hasty = machines.worker(), machines.worker("other", TOOLGATE_DISTRIBUTED_DRAIN_SECONDS="0.2")
    await machines.ready(patient, hasty)
    short = await machines.begin(await machines.session(), [["look", {"key": "short", "seconds": 2}]], "Finished.")
    long = await machines.begin(
        await machines.session(project="other"), [["look", {"key": "long", "seconds": 4}]], "Handed over."
    )
    await until(lambda: len(machines.effects("looks")) == 2, what="both looks", logs=machines.logs)
    patient.signal(signal.SIGTERM)
    hasty.signal(signal.SIGTERM)
    await until(lambda: hasty.popen.poll() is not None, what="the hasty one's end", logs=machines.logs)
    waiting = await machines.state(long.id)
    await machines.ready(machines.worker("other"))
    ended = [await machines.ended(turn.id) for turn in (short, long)]
    await until(lambda: patient.popen.poll() is not None, what="the patient one's end", logs=machines.logs)

    assert (patient.popen.returncode, hasty.popen.returncode) == (0, 0), machines.logs()
    assert waiting == "queued"
    assert [(turn.status, turn.attempt) for turn in ended] == [("done", 1), ("done", 1)]
    assert machines.effects("looks").count("short") == 1


async def test_a_session_is_played_where_its_workspace_is_and_nowhere_else(machines: Cluster) -> None:
    here, there = machines.worker("main"), machines.worker("other")
    await machines.ready(here, there)
    for name in ("main", "other"):
        sessions = [await machines.session(project=name) for _ in range(4)]
        turns = [await machines.begin(session, [["span", {"key": name}]], "Here.") for session in sessions]
        for turn in turns:
            await machines.ended(turn.id)
    there.kill()
    stranded = await machines.begin(await machines.session(project="other"), "Not here.")
    await machines.ended((await machines.begin(await machines.session(), "Here.")).id)
    left = await machines.state(stranded.id)
    places = {line.lstrip("+-") for line in machines.effects("spans")}

    assert places == {f"main@{here.popen.pid}", f"other@{there.popen.pid}"}
    assert left == "queued"


async def test_an_idle_session_moves_to_another_worker_and_its_shell_comes_along(machines: Cluster) -> None:
    (machines.workspace() / "sub").mkdir()
    settings = SessionSettings(coding_enabled=True)
    sessions = SessionManager(machines.db, settings)
    first = machines.worker(SESSION_CODING_ENABLED="true")
    await machines.ready(first)
    session = (await sessions.create("coding", user="ada", project="main")).id
    before = [["Bash", {"command": "cd sub && export WHO=ada && hi() { echo hi $WHO; }"}]]
    await machines.ended((await machines.begin(session, before, "Prepared.")).id)
    first.kill()
    await machines.ready(machines.worker(SESSION_CODING_ENABLED="true"))
    turn = await machines.begin(session, [["Bash", {"command": "basename $PWD; hi"}]], "Moved.")
    await machines.ended(turn.id)
    answers = [message.content for message in await sessions.messages(session) if message.role == "tool"]

    assert "sub\nhi ada" in answers[-1], answers


async def test_an_old_worker_takes_no_turn_of_a_newer_version_and_a_new_one_adopts_old_turns(
    machines: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = machines.worker()
    await machines.ready(old)
    with monkeypatch.context() as patch:
        patch.setattr(names, "_FORMAT", 2)
        newer = await machines.begin(await machines.session(), "From the future.")
    same = await machines.ended((await machines.begin(await machines.session(), "From today.")).id)
    await asyncio.sleep(1.5)
    untouched = await machines.state(newer.id)
    old.signal(signal.SIGTERM)
    await until(lambda: old.popen.poll() is not None, what="the old one's end", logs=machines.logs)
    left_behind = await machines.begin(await machines.session(), "From the past.")
    await machines.ready(machines.worker(TEST_FORMAT="2"))
    ended = [await machines.ended(turn.id) for turn in (newer, left_behind)]

    assert same.status == "done"
    assert untouched == "queued"
    assert [turn.status for turn in ended] == ["done", "done"]


def _toolgate(machines: Cluster, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolgate", *words],
        cwd=ROOT,
        env={**machines.environment, **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def _get(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


async def test_the_status_is_there_for_people_pages_probes_and_metrics(machines: Cluster) -> None:
    place = f"main={machines.workspace()}"
    worker = machines.start(["-m", "toolgate", "worker", "--workspace", place, "--port", "0"], "cli")
    port = await port_of(machines, gateway(machines))
    await machines.ready(worker)
    turn = await machines.begin(await machines.session(), "Hello.")
    await machines.ended(turn.id)
    health = worker.output.partition("http://")[2].partition("/")[0]
    answers = [await asyncio.to_thread(_get, f"http://{health}{path}") for path in ("/health/ready", "/metrics", "/x")]
    shown = await asyncio.to_thread(_toolgate, machines, "status", "--json")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    page = await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/status", **bearer)
    stranger = await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/status")
    await machines.kill(worker)
    await until(lambda: _alarmed(machines), what="the alarm", logs=machines.logs)

    status = json.loads(shown.stdout)
    assert (shown.returncode, status["problems"]) == (0, [])
    assert (status["turns"]["done"], status["workers"][0]["workspaces"]) == (1, ["main"])
    assert answers[0] == (200, "ok\n")
    assert 'toolgate_cluster_turns_last_hour{ending="done"} 1' in answers[1][1]
    assert answers[2][0] == 404
    assert page[0] == 200
    assert "last sign of life" in page[1]
    assert stranger[0] == 401


async def _alarmed(machines: Cluster) -> bool:
    shown = await asyncio.to_thread(_toolgate, machines, "status")
    return shown.returncode == 1 and "no worker is alive" in shown.stdout


async def test_a_database_that_cannot_be_used_is_said_in_one_line(machines: Cluster) -> None:
    where = ["worker", "--workspace", f"main={machines.workspace()}"]
    down = await asyncio.to_thread(
        _toolgate, machines, *where, TOOLGATE_DATABASE_URL="postgresql://ada:hunter2@127.0.0.1:1/x"
    )
    file = await asyncio.to_thread(_toolgate, machines, *where, TOOLGATE_DATABASE_URL=f"sqlite:///{machines.base}/a.db")

    assert (down.returncode, file.returncode) == (2, 2)
    assert "Check that the server runs" in down.stderr
    assert "hunter2" not in down.stderr
    assert "need PostgreSQL" in file.stderr
    assert down.stderr.count("\n") == file.stderr.count("\n") == 1


async def test_a_read_only_or_silent_database_refuses_clearly_and_recovers_by_itself(
    machines: Cluster, own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = machines.worker()
    await machines.ready(worker)
    session = await machines.session()
    name = own_url.partition("?")[0].rpartition("/")[2]
    monkeypatch.setattr(runner, "WRITE_SECONDS", 1.0)
    await _read_only(own_url, name, "on")
    await restart(own_url)
    with pytest.raises(StoreError, match="read-only"):
        await _until_refused(machines, session)
    await _read_only(own_url, name, "off")
    await restart(own_url)
    async with proxied(own_url) as (proxy, way):
        db = Database(way)
        slow = DurableRunner(db, way, ClusterOptions.of(Settings.defaults(), turns_per_minute=0), Settings.defaults())
        await db.read(lambda tx: tx.row("SELECT 1"))
        proxy.swallow()
        with pytest.raises(StoreError, match=r"did not answer within 1 s"):
            await slow.submit(session, '["Too slow."]')
        proxy.heal()
        await slow.aclose()
        await db.close()
    monkeypatch.setattr(runner, "WRITE_SECONDS", 20.0)
    ended = await machines.ended((await _sent(machines, session)).id)

    assert ended.status == "done"
    assert worker.popen.poll() is None


async def _read_only(url: str, name: str, value: str) -> None:
    import asyncpg  # type: ignore[import-untyped]

    connection = await asyncpg.connect(url)
    await connection.execute("SET default_transaction_read_only = off")
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
    await connection.close()


async def _until_refused(machines: Cluster, session: str) -> None:
    """Connections that a restart has ended come first; then the reason."""
    for _ in range(20):
        try:
            await machines.begin(session, "Not now.")
        except StoreError as error:
            if "read-only" in str(error):
                raise
        await asyncio.sleep(0.2)


async def _sent(machines: Cluster, session: str):  # type: ignore[no-untyped-def]
    for _ in range(50):
        try:
            return await machines.begin(session, "Now.")
        except StoreError:
            await asyncio.sleep(0.2)
    pytest.fail("the database does not come back")


async def test_schemas_of_a_newer_version_are_refused_by_a_worker(machines: Cluster) -> None:
    await machines.db.write(lambda tx: tx.run("UPDATE alembic_version SET version_num = '9999'"))
    refused = await asyncio.to_thread(_toolgate, machines, "worker", "--workspace", f"main={machines.workspace()}")

    assert refused.returncode == 2
    assert "Install a newer Toolgate" in refused.stderr
